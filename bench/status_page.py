"""What a status page that is open costs: requests with its feed read, and without.

    python -m bench.status_page [N] [--json FOLDER]

One server over an engine that answers at once is asked in turns, with pages
open and with none.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from bench.figures import Comparison, Figure, save
from bench.front_ends import FLAGS, running
from bench.load import chat, load

PAGES = (1, 10)
SECONDS = 3.0
PATH = "/admin/status/events"
CASES = {
    "16 streams of 128 tokens": ("chunks", chat(n_tokens=128, stream=True)),
    "short requests, 16 clients": ("answers", chat(n_tokens=1, stream=False)),
}


@contextmanager
def open_page(url: str) -> Iterator[None]:
    """Read the feed as a page does, from the first event on."""
    has_begun, is_over = threading.Event(), threading.Event()

    def read() -> None:
        while not is_over.is_set():
            with httpx.stream("GET", url + PATH, timeout=60) as response:
                for _ in response.raise_for_status().iter_lines():
                    has_begun.set()
                    if is_over.is_set():
                        return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        has_begun.wait(60)
        yield
    finally:
        is_over.set()
        reader.join()


def measure(n: int) -> list[Figure]:
    """All cases in N turns each, after one that does not count."""
    figures: list[Figure] = []
    with running("ours") as (server,):
        for n_pages in PAGES:
            for name, (unit, request) in CASES.items():
                title = f"{name}, {n_pages} open"
                figure = Comparison(title, f"{unit}/s", against="no page")
                for turn in range(n + 1):
                    for pages, values in ((n_pages, figure.ours), (0, figure.other)):
                        with ExitStack() as opened:
                            for _ in range(pages):
                                opened.enter_context(open_page(server.url))
                            count = load(
                                server.url, request, n_clients=16, seconds=SECONDS
                            )
                        if turn:
                            n_done = count.n_events or count.n_answers
                            values.append(n_done / count.seconds)
                print(figure.line(), flush=True)
                figures.append(figure)
    return figures


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=5, help="pairs (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where figures go")
    options = parser.parse_args()
    figures = measure(options.n)
    if options.json:
        print(save(options.json, "status_page", figures, [], flags=FLAGS))


if __name__ == "__main__":
    main()
