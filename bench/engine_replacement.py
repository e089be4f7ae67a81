"""Seconds another engine takes in a process that has had one.

    python -m bench.engine_replacement [N]

The graph is stopped down to its settings and started again up to its engine, as after
the engine's death: configuration, tokenizer and renderer are made anew as well.
"""

from __future__ import annotations

import asyncio
import sys
import time

import yaml

from containers import ModelContainer, ModelSettings, running
from containers.vllm_api.engine_processes import EngineProcesses
from tests.engine.servers import CONFIG

SECONDS_MARK = "seconds "


async def replace(settings: ModelSettings, n: int) -> None:
    """Start an engine, and then N more, each after the one before has stopped."""
    for number in range(n + 1):
        began = time.monotonic()
        async with running(ModelContainer(settings=settings), "engine"):
            if number:
                sys.stdout.write(f"{SECONDS_MARK}{time.monotonic() - began:.3f}\n")
                sys.stdout.flush()


def main() -> None:
    """Print a line for each engine but the first."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    model = yaml.safe_load(CONFIG.read_text())["models"][0]
    with EngineProcesses().held():
        asyncio.run(replace(ModelSettings.model_validate(model), n))


if __name__ == "__main__":
    main()
