"""Two front ends beside one, over engines that answer at once.

``python -m bench.several_front_ends [N]``: N turns, each of both; requests and stream
chunks a second, and the processor's time that each takes for one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import psutil

from bench.figures import Comparison, Figure, save
from bench.front_ends import running
from bench.load import chat, load
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


def processor_s(server: Server) -> float:
    """Seconds of a processor that a server's processes have taken."""
    processes = [psutil.Process(server.process.pid), *server.children()]
    times = [each.cpu_times() for each in processes]
    return sum(each.user + each.system for each in times)


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
                    began_s = processor_s(server)
                    count = load(
                        server.url, request, n_clients=n_clients, seconds=SECONDS
                    )
                    number = max(count.n_events or count.n_answers, 1)
                    if turn:  # the first turn warms up
                        values.append(number / count.seconds)
                        taken.append(1e6 * (processor_s(server) - began_s) / number)
    return [*rates, *costs]


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=5, help="turns (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where figures go")
    options = parser.parse_args()
    figures = measure(options.n)
    for figure in figures:
        print(figure.line(), flush=True)
    if options.json is not None:
        print(save(options.json, "frontends", figures, []))


if __name__ == "__main__":
    main()
