"""Two front ends beside one, over engines that answer at once.

``python -m bench.several_front_ends [N]``: N turns, each of both; requests and stream
chunks a second, and the processor's time that each takes for one.
"""

from __future__ import annotations

import psutil

from bench.command import run
from bench.figures import Comparison, Figure
from bench.front_ends import running
from bench.load import chat, load, processor_s
from tests.engine.servers import Server

SECONDS = 2.0
SHORT = chat(n_tokens=1, stream=False)
STREAM = chat(n_tokens=128, stream=True)
CASES = (
    ("short requests, 16 clients", "answers", SHORT, 16),
    ("short requests, 64 clients", "answers", SHORT, 64),
    ("16 streams of 128 tokens", "chunks", STREAM, 16),
    ("64 streams of 128 tokens", "chunks", STREAM, 64),
)


def taken_s(server: Server) -> float:
    """Seconds of a processor that a server's processes have taken."""
    return processor_s([psutil.Process(server.process.pid), *server.children()])


def measure(n: int) -> list[Figure]:
    """Both, in N turns."""
    rates = [Comparison(name, f"{unit}/s", against="one") for name, unit, *_ in CASES]
    costs = [
        Comparison(f"{name}, each", "us of a core", less=True, against="one")
        for name, *_ in CASES
    ]
    with running("ours-2", "ours") as (two, one):
        two.wait_for(lambda: "front end 1 serves" in two.log)
        for turn in range(n + 1):
            for rate, cost, (_, _, request, n_clients) in zip(
                rates, costs, CASES, strict=True
            ):
                for server, values, taken in (
                    (two, rate.ours, cost.ours),
                    (one, rate.other, cost.other),
                ):
                    began_s = taken_s(server)
                    count = load(
                        server.url, request, n_clients=n_clients, seconds=SECONDS
                    )
                    number = max(count.n_events or count.n_answers, 1)
                    if turn:  # the first turn warms up
                        values.append(number / count.seconds)
                        taken.append(1e6 * (taken_s(server) - began_s) / number)
    return [*rates, *costs]


if __name__ == "__main__":
    run(__doc__, "frontends", measure, n=5)
