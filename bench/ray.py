"""The Ray Serve application beside the plain server, both over an instant engine.

``python -m bench.ray [N]``: N turns, each of both; requests and stream chunks a second,
and the time to the first token that the way through Ray adds.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
import yaml
from dependency_injector.containers import Container

from bench.command import run
from bench.figures import Comparison, Figure, Single
from bench.front_ends import MAX_MODEL_LEN, running
from bench.instant_engine import InstantEngine
from bench.load import EVENT, chat, load
from containers import ModelContainer, Settings
from tests.engine.servers import CHAT, Server, free_port

SECONDS = 1.0
SHORT = chat(n_tokens=1, stream=False)
STREAM = chat(n_tokens=128, stream=True)
CASES = (
    ("short requests, 1 client", "answers", SHORT, 1),
    ("short requests, 16 clients", "answers", SHORT, 16),
    ("short requests, 64 clients", "answers", SHORT, 64),
    ("16 streams of 128 tokens", "chunks", STREAM, 16),
)
N_FIRST_TOKENS = 100


def instant(settings: Settings) -> Container:
    """What a replica serves: the real container over an engine that answers at once."""
    (model,) = settings.models
    container = ModelContainer(settings=model, performance=settings.performance)
    container.engine.override(InstantEngine())
    return container


@contextmanager
def serving_with_ray(**ray: object) -> Iterator[Server]:
    """``vllm-di serve --ray`` over instant engines, once it is ready.

    Args:
        ray: The model's ``ray`` section.
    """
    port = free_port()
    model = CHAT | {"engine": CHAT["engine"] | {"max_model_len": MAX_MODEL_LEN}}
    config = {
        "server": {"port": port, "start_timeout_s": 900.0},
        "ray": {"container": "bench.ray:instant"},
        "models": [model | {"ray": ray}],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        server = Server(
            [sys.executable, "-m", "app", "serve", "--ray", "--config", str(path)],
            Path(folder) / "ray.log",
            url=f"http://127.0.0.1:{port}",
        )
        try:
            server.wait_until_ready()
            yield server
        finally:
            server.stop()


def first_tokens_s(url: str, n: int) -> float:
    """Median seconds from a request for a stream to its first event with a token."""
    return uvloop.run(_first_tokens_s(url, n))


async def _first_tokens_s(url: str, n: int) -> float:
    address = urlsplit(url)
    taken: list[float] = []
    for _ in range(n):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        began = time.perf_counter()
        writer.write(chat(n_tokens=4, stream=True))
        await reader.readuntil(EVENT)  # its role
        await reader.readuntil(EVENT)
        taken.append(time.perf_counter() - began)
        writer.close()
    return statistics.median(taken)


def measure(n: int) -> list[Figure]:
    """Both, in N turns."""
    rates = [Comparison(name, f"{unit}/s", against="plain") for name, unit, *_ in CASES]
    first = Comparison("first token, 1 client", "ms", less=True, against="plain")
    added = Single("added to it by Ray", "ms")
    with running("ours") as (plain,), serving_with_ray(num_cpus=1.0) as ray:
        for turn in range(n + 1):
            for figure, (_, _, request, n_clients) in zip(rates, CASES, strict=True):
                for server, values in ((ray, figure.ours), (plain, figure.other)):
                    count = load(
                        server.url, request, n_clients=n_clients, seconds=SECONDS
                    )
                    if turn:  # the first turn warms up
                        values.append(
                            max(count.n_events or count.n_answers, 1) / count.seconds
                        )
            for server, values in ((ray, first.ours), (plain, first.other)):
                milliseconds = 1000 * first_tokens_s(server.url, N_FIRST_TOKENS)
                if turn:
                    values.append(milliseconds)
    added.values = [a - b for a, b in zip(first.ours, first.other, strict=True)]
    return [*rates, first, added]


if __name__ == "__main__":
    run(__doc__, "ray", measure, n=3)
