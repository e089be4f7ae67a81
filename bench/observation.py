"""What it costs to be seen: metrics, logs, traces and open pages, on against off.

    python -m bench.observation [N] [--json FOLDER]

Servers over an engine that answers at once, one with nothing on and one for each of
metrics, logs, traces and the three of them, run side by side and are asked in turns,
two of them with open status pages too. Log lines go to a file, spans to a collector in
this very process, which takes its part of the machine; so look at the second of the
processor. The last figures are of requests without sockets, in one process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.command import run
from bench.figures import Comparison, Figure
from bench.front_ends import ALL, OFF, WATCHED, running
from bench.frontend import CASES, Case
from bench.observed_requests import processor_us
from bench.open_page import open_pages
from tests.engine.servers import Server

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
COUNTED = CASES[::2]
"""Streams, and short requests, where a request's own cost shows the most."""


@dataclass(frozen=True)
class Way:
    """One way of being seen.

    Attributes:
        name: What figures call it.
        kind: Kind of the server.
        n_pages: Status pages that are open on it.
    """

    name: str
    kind: str
    n_pages: int = 0


UNWATCHED = Way(OFF, OFF)
WAYS = (
    UNWATCHED,
    *(Way(kind, kind) for kind in WATCHED if kind not in {OFF, ALL}),
    Way("a page", OFF, 1),
    Way("ten pages", OFF, 10),
    Way(ALL, ALL),
    Way("all and a page", ALL, 1),
)


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
    with collecting():
        with running(*WATCHED) as found:
            servers = dict(zip(WATCHED, found, strict=True))
            figures = [
                figure for case in COUNTED for figure in compared(case, servers, n)
            ]
        return [*figures, *by_request(n)]


def compared(case: Case, servers: Mapping[str, Server], n: int) -> list[Figure]:
    """One case in N turns, each of which passes all ways, after one for nothing."""
    turns: list[dict[Way, tuple[float, float]]] = []
    for number in range(n + 1):
        # Whoever comes after another has its garbage; so they change places.
        ways = [*WAYS[number % len(WAYS) :], *WAYS[: number % len(WAYS)]]
        turns.append({way: counted(case, way, servers[way.kind]) for way in ways})
    figures: list[Figure] = []
    for way in WAYS:
        for unit, which in ((f"{case.unit}/s", 0), (f"{case.unit}/cpu s", 1)):
            figure = Comparison(f"{way.name}: {case.name}", unit, against=OFF)
            figure.ours = [turn[way][which] for turn in turns[1:]]
            figure.other = [turn[UNWATCHED][which] for turn in turns[1:]]
            if way is not UNWATCHED:
                print(figure.line(), flush=True)
                figures.append(figure)
    return figures


def counted(case: Case, way: Way, server: Server) -> tuple[float, float]:
    """How much was done by the second of the clock, and of the server's processor."""
    with open_pages(server.url, way.n_pages):
        return case.counted(server)


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


if __name__ == "__main__":
    run(__doc__, "observation", measure, n=5, prints=False)
