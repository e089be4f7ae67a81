"""What it costs to be seen: metrics, logs and traces of requests, on against off.

    python -m bench.observation [N] [--json FOLDER]

Two servers over an engine that answers at once, one with nothing on and one with one of
the three, or all, are asked in turns. Log lines go to a file, spans to a collector in
this very process, which takes its part of the machine; so look at the second of the
processor. The last figures are of requests without sockets, in one process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.figures import Comparison, Figure, save
from bench.front_ends import OFF, WATCHED, running
from bench.frontend import CASES, Case
from bench.observed_requests import processor_us
from tests.engine.servers import Server

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
COUNTED = CASES[::2]
"""Streams, and short requests, where a request's own cost shows the most."""


class Collector(BaseHTTPRequestHandler):
    """Takes spans and forgets them."""

    def do_POST(self) -> None:
        """Take them."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[None]:
    """A collector, whose address servers that start in the block find."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ[ENDPOINT] = f"http://127.0.0.1:{server.server_port}"
        try:
            yield
        finally:
            del os.environ[ENDPOINT]
            server.shutdown()


def measure(n: int) -> list[Figure]:
    """All figures of this part."""
    figures: list[Figure] = []
    with collecting():
        for kind in WATCHED:
            if kind == OFF:
                continue
            with running(kind, OFF) as (on, off):
                for case in COUNTED:
                    figures += compared(kind, case, on, off, n)
        figures += by_request(n)
    return figures


def by_request(n: int) -> list[Comparison]:
    """What a short request costs the processor, compared with one nobody watches."""
    unwatched, *watched = asyncio.run(processor_us(n))
    figures = []
    for single in watched:
        figure = Comparison(single.name, single.unit, less=True, against=OFF)
        figure.ours, figure.other = single.values, unwatched.values
        print(figure.line(), flush=True)
        figures.append(figure)
    return figures


def compared(
    kind: str, case: Case, on: Server, off: Server, n: int
) -> list[Comparison]:
    """One case in N turns, after one that does not count."""
    name = f"{kind}: {case.name}"
    by_clock = Comparison(name, f"{case.unit}/s", against=OFF)
    by_cpu = Comparison(name, f"{case.unit}/cpu s", against=OFF)
    for number in range(n + 1):
        # Whoever comes second has the other's garbage; so they take turns in that too.
        order = ((on, "ours"), (off, "other"))
        for server, side in order if number % 2 else reversed(order):
            a_second, a_cpu_second = case.counted(server)
            if number:
                getattr(by_clock, side).append(a_second)
                getattr(by_cpu, side).append(a_cpu_second)
    for figure in (by_clock, by_cpu):
        print(figure.line(), flush=True)
    return [by_clock, by_cpu]


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=5, help="pairs (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where figures go")
    options = parser.parse_args()
    figures = measure(options.n)
    if options.json is not None:
        print(save(options.json, "observation", figures, []))


if __name__ == "__main__":
    main()
