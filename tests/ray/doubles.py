"""What replicas serve in tests: real containers over a double of the engine.

What the double does depends on the prompt, since it lives in another process.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dependency_injector import providers
from dependency_injector.containers import Container

from containers import ApplicationContainer, ModelContainer, Settings
from containers.testing import FakeEngine

SLOW = "slowly"
"""A prompt with it is answered for ``N_SLOW`` tokens, one each ``DELAY_S``."""
N_SLOW, DELAY_S = 100, 0.1
DIE = "die"
"""A prompt with it kills the engine after a few tokens."""
ABORTED = "VLLM_DI_TEST_ABORTED"
"""Variable that names a file to which the process id is written at an abort."""


class Engine(FakeEngine):
    """A double that a prompt can make slow, or kill, and that tells aborts."""

    def __init__(self) -> None:
        super().__init__(self._answer)

    async def _answer(self, request: Any) -> AsyncIterator[str]:
        text = request.prompt or ""
        if DIE in text:
            yield "a"
            self.die()
        if SLOW in text:
            async for token in _slow_tokens():
                yield token
            return
        yield str(os.getpid())


async def _slow_tokens() -> AsyncIterator[str]:
    try:
        for number in range(N_SLOW):
            await asyncio.sleep(DELAY_S)
            yield f"{number} "
    except BaseException:
        if file := os.environ.get(ABORTED):
            Path(file).write_text(str(os.getpid()))  # noqa: ASYNC240  # a test's own file
        raise


def container(settings: Settings) -> Container:
    """A container of one model over the double."""
    (model,) = settings.models
    made = ModelContainer(settings=model, performance=settings.performance)
    made.engine.override(Engine())
    return ApplicationContainer(
        settings=settings, models=providers.Object({model.name: made})
    )
