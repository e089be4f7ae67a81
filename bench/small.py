"""Small things: ``import containers``, and a graph of many resources.

python -m bench.small [N] [--json FOLDER]

All of it is time of the processor, which on an idle machine is that of the clock.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from dependency_injector import containers

from bench.command import run
from bench.figures import Comparison, Figure, Single
from containers.lifecycle import LoadedContainer, Resource, running

SIZES = (100, 200, 400)
MOST_MS = 100.0


async def nothing(**needs: Any) -> AsyncIterator[object]:
    """A resource that costs nothing."""
    del needs
    yield object()


def graph(n: int) -> containers.DynamicContainer:
    """A container of N resources, each of which needs the one ten before it."""
    made = containers.DynamicContainer()
    made.instance_type = LoadedContainer
    for number in range(n):
        before = getattr(made, f"r{number - 10}", None)
        needs = {} if before is None else {"before": before}
        setattr(made, f"r{number}", Resource(nothing, **needs))
    return made


async def start_and_stop_ms(n: int) -> float:
    """Milliseconds a graph of N resources takes from nothing to its end."""
    made = graph(n)
    began_s = time.process_time()
    async with running(made):
        pass
    return 1000 * (time.process_time() - began_s)


def import_s(code: str) -> float:
    """Seconds an interpreter takes for a line of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  # our own line
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(n: int) -> list[Figure]:
    """All figures of this part."""
    imports = Single("import containers", "cpu s", 0.4)
    whole = Single("and ApplicationContainer", "cpu s")
    for _ in range(n):
        nothing_s = import_s("pass")
        imports.values.append(import_s("import containers") - nothing_s)
        application = "from containers import ApplicationContainer"
        whole.values.append(import_s(application) - nothing_s)
    graphs = []
    for size in SIZES:
        limit = MOST_MS if size == SIZES[-1] else None
        graphs.append(Single(f"graph of {size}, start and stop", "cpu ms", limit))
    for _ in range(n):
        for size, figure in zip(SIZES, graphs, strict=True):
            figure.values.append(asyncio.run(start_and_stop_ms(size)))
    growth = Comparison(
        "graph of 400 by that of 100", "ms", 4.4, less=True, against="a graph of 100"
    )
    growth.ours, growth.other = graphs[-1].values, graphs[0].values
    return [imports, whole, *graphs, growth]


if __name__ == "__main__":
    run(__doc__, "small", measure, n=5)
