"""A start over a container without vLLM, shown by the progress of ``vllm-di serve``.

``python -m tests.unit.progress_program WAY``, where the way is how it ends: ready,
failed, or endless, which Ctrl-C ends.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncIterator

from dependency_injector import containers

from app.progress import StartProgress, lines, start_progress
from containers.errors import StartError
from containers.lifecycle import LoadedContainer, Resource, running

WAY = sys.argv[1]
SECONDS = 1.2

lines.REPORT_EVERY_S = 0.5


def config() -> str:
    logging.getLogger("containers.config").info("a line of our own log")
    return "config"


async def engine(*, config: str) -> AsyncIterator[str]:
    sys.stdout.write("a line of standard output\n")
    command = "printf '10%%\\r90%%\\r100%% of the weights\\n'; echo an error >&2"
    subprocess.run(["sh", "-c", command], check=False)  # noqa: ASYNC221  # it is short
    await asyncio.sleep(SECONDS)
    if WAY == "failed":
        raise MemoryError("no room for the weights")
    if WAY == "endless":
        await asyncio.Event().wait()
    late = ["sh", "-c", "sleep 0.3; echo a late line of the engine"]
    child = subprocess.Popen(late)  # noqa: ASYNC220  # returns at once
    yield "engine"
    child.wait()


def serving(*, engine: str) -> str:
    return f"serving {engine}"


class Model(containers.DeclarativeContainer):
    instance_type = LoadedContainer

    config = Resource(config)
    engine = Resource(engine, config=config)
    serving = Resource(serving, engine=engine)


async def start(model: Model, progress: StartProgress) -> None:
    try:
        async with running(model):
            progress.end()
            progress.say("ready: http://127.0.0.1:8000")
    except StartError as error:
        progress.say(f"the start failed: {error.reason}")


def main() -> int:
    model = Model()
    with start_progress({"m": model}) as progress:
        progress.say("starting a model")
        try:
            asyncio.run(start(model, progress))
        except KeyboardInterrupt:
            return 3
    sys.stdout.write("the end\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
