"""The HTTP front end over an engine that answers at once: ours and stock, in turns.

    python -m bench.frontend [N] [--json FOLDER] [--curves]

Both serve the same model's tokenizer and chat template with the same flags, each in a
process of its own, and are asked in turns. What others do on the machine changes how
much they get done in a second, so that is printed by the second of the clock and by
the second of the processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.figures import Comparison, Curve, Figure, save
from bench.front_ends import FLAGS, running
from bench.load import Count, chat, get, load
from bench.plot import draw
from tests.engine.servers import Server

SECONDS = 1.0
WORD = " word"
STREAM_SIZES = (1, 4, 16, 64, 256, 1000)
PROMPT_TOKENS = (10, 30, 100, 300, 1000, 3000, 6000)
MODELS = (1, 10, 50, 200)


@dataclass(frozen=True)
class Case:
    """What is asked, and what is counted of the answers."""

    name: str
    unit: str
    request: bytes
    n_clients: int
    target: float | None

    def counted(self, server: Server) -> tuple[float, float]:
        """How many a second of the clock, and a second of the processor."""
        count = load(
            server.url,
            self.request,
            n_clients=self.n_clients,
            seconds=SECONDS,
            pid=server.process.pid,
        )
        n = self.number(count)
        return n / count.seconds, n / max(count.cpu_s, 1e-3)

    def number(self, count: Count) -> int:
        """What is counted."""
        return count.n_events or count.n_answers


STREAM = chat(n_tokens=128, stream=True)
SHORT = chat(n_tokens=1, stream=False)
CASES = (
    Case("16 streams of 128 tokens", "chunks", STREAM, 16, 3.5),
    Case("256 streams of 128 tokens", "chunks", STREAM, 256, 3.5),
    Case("short requests, 16 clients", "answers", SHORT, 16, 2.2),
)


def compare(n: int) -> list[Figure]:
    """All cases, in N turns each."""
    figures: list[Figure] = []
    with running("ours", "stock") as (ours, stock):
        for case in CASES:
            by_clock = Comparison(case.name, f"{case.unit}/s", case.target)
            by_cpu = Comparison(case.name, f"{case.unit}/cpu s")
            for _ in range(n + 1):
                for server, clock, cpu in (
                    (ours, by_clock.ours, by_cpu.ours),
                    (stock, by_clock.other, by_cpu.other),
                ):
                    a_second, a_cpu_second = case.counted(server)
                    clock.append(a_second)
                    cpu.append(a_cpu_second)
            for figure in (by_clock, by_cpu):
                figure.ours, figure.other = figure.ours[1:], figure.other[1:]
                print(figure.line(), flush=True)
            figures += [by_clock, by_cpu]
    return figures


def lags(n: int) -> list[Figure]:
    """How late the event loop is at the worst, under short and long prompts."""
    figure = Comparison("worst lag, mixed load", "ms", less=True, against="ours-off")
    long = chat(n_tokens=1, stream=False, prompt=WORD * 6000)
    requests = (STREAM, SHORT, SHORT, long)
    with running("ours", "ours-off") as (ours, off):
        for _ in range(n):
            for server, values in ((ours, figure.ours), (off, figure.other)):
                httpx.get(f"{server.url}/lag").raise_for_status()
                load(server.url, *requests, n_clients=16, seconds=SECONDS)
                lag_s = httpx.get(f"{server.url}/lag", timeout=60).json()
                values.append(1000 * lag_s)
    print(figure.line(), flush=True)
    return [figure]


def injection(n: int) -> list[Figure]:
    """Processor time of a route with five injected objects, against a plain one."""
    figure = Comparison(
        "five injected objects", "cpu us/request", 1.05, less=True, against="plain"
    )
    with running("ours") as (server,):
        for number in range(n + 1):
            for path, values in (("/injected", figure.ours), ("/plain", figure.other)):
                count = load(
                    server.url,
                    get(path),
                    n_clients=16,
                    seconds=SECONDS,
                    pid=server.process.pid,
                )
                if number:
                    values.append(1e6 * count.cpu_s / count.n_answers)
    print(figure.line(), flush=True)
    return [figure]


def curves() -> list[Curve]:
    """How both grow with streams and prompts, and ours with models."""
    streams = Curve("chunks by streams", "concurrent streams", "chunks/s")
    prompts = Curve("answers by prompt", "tokens of the prompt", "answers/s")
    with running("ours", "stock") as servers:
        for name, server in zip(("ours", "stock"), servers, strict=True):
            streams.points[name] = [
                (n, _rate(server, STREAM, n_clients=n)) for n in STREAM_SIZES
            ]
            prompts.points[name] = [
                (n, _rate(server, _prompt(n), n_clients=8)) for n in PROMPT_TOKENS
            ]
    models = Curve("answers by models", "models in the registry", "answers/s")
    models.points["ours"] = []
    for n_models in MODELS:
        with running("ours", n_models=n_models) as (server,):
            models.points["ours"].append((n_models, _rate(server, SHORT, n_clients=16)))
    return [streams, prompts, models]


def _prompt(n_tokens: int) -> bytes:
    return chat(n_tokens=1, stream=False, prompt=WORD * n_tokens)


def _rate(server: Server, request: bytes, *, n_clients: int) -> float:
    count = load(server.url, request, n_clients=n_clients, seconds=SECONDS)
    return max(count.n_events or count.n_answers, 1) / count.seconds


def measure(n: int) -> list[Figure]:
    """All figures of this part."""
    return [*compare(n), *lags(n), *injection(n)]


def report(
    figures: Sequence[Figure], grown: Sequence[Curve], folder: Path | None
) -> None:
    """Write values and pictures if asked to."""
    if folder is None:
        return
    print(save(folder, "frontend", figures, grown, flags=FLAGS))
    for curve in grown:
        print(draw(curve, folder))


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="?", type=int, default=5, help="pairs (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where figures go")
    parser.add_argument("--curves", action="store_true", help="how they grow, too")
    options = parser.parse_args()
    figures = measure(options.n)
    report(figures, curves() if options.curves else [], options.json)


if __name__ == "__main__":
    main()
