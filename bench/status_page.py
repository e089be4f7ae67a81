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
from bench.frontend import SHORT, STREAM, Case
from tests.engine.servers import Server

PAGES = (1, 10)
PATH = "/admin/status/events"
NONE = "no page"
CASES = (
    Case("16 streams of 128 tokens", "chunks", STREAM, 16, None),
    Case("short requests, 16 clients", "answers", SHORT, 16, None),
)


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


def compare(server: Server, case: Case, n_pages: int, n: int) -> list[Figure]:
    """One case in N turns, after one that does not count."""
    title = f"{case.name}, {n_pages} open"
    by_clock = Comparison(title, f"{case.unit}/s", against=NONE)
    by_cpu = Comparison(title, f"{case.unit}/cpu s", against=NONE)
    for turn in range(n + 1):
        for pages, clock, cpu in (
            (n_pages, by_clock.ours, by_cpu.ours),
            (0, by_clock.other, by_cpu.other),
        ):
            with ExitStack() as opened:
                for _ in range(pages):
                    opened.enter_context(open_page(server.url))
                a_second, a_cpu_second = case.counted(server)
            if turn:
                clock.append(a_second)
                cpu.append(a_cpu_second)
    print(by_clock.line(), by_cpu.line(), sep="\n", flush=True)
    return [by_clock, by_cpu]


def measure(n: int) -> list[Figure]:
    """All cases."""
    with running("ours") as (server,):
        return [
            figure
            for n_pages in PAGES
            for case in CASES
            for figure in compare(server, case, n_pages, n)
        ]


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
