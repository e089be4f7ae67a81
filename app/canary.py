"""A canary: proof, again and again, that an engine answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from containers.settings import CanarySettings
from containers.vllm_api.probe import ask_least


class Canary:
    """Asks an engine for one token, or one vector, at an interval.

    Args:
        engine: Client of a started engine.
        settings: Interval and timeout.
        can: What its model can do, in vLLM's words.

    Attributes:
        trouble: Why the last one failed, or an empty string.
        n_failures: How many have failed since one has not.
    """

    def __init__(
        self, engine: Any, settings: CanarySettings, *, can: Sequence[str]
    ) -> None:
        self._engine = engine
        self._can = can
        self.n_failures = 0
        self._settings = settings
        self._task: asyncio.Task[None] | None = None
        self.trouble = ""

    def sings_for(self, engine: Any, settings: CanarySettings | None) -> bool:
        """Whether it is this engine's, and as the settings want it."""
        return self._engine is engine and self._settings == settings

    @property
    def is_given_up(self) -> bool:
        """Whether so many have failed that the engine is to be replaced."""
        limit = self._settings.max_failures
        return limit is not None and self.n_failures >= limit

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Sing until stopped."""
        self._task = tasks.create_task(self._run())

    def stop(self) -> None:
        """Sing no more."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            self.trouble = await self._sing()
            self.n_failures = self.n_failures + 1 if self.trouble else 0
            await asyncio.sleep(self._settings.interval_s)

    async def _sing(self) -> str:
        timeout_s = self._settings.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await ask_least(self._engine, self._can, f"canary-{uuid4().hex}")
        except TimeoutError:
            return f"the canary got no answer within {timeout_s:g} s"
        except Exception as error:  # noqa: BLE001  # whatever fails is the finding
            return f"the canary failed: {error}"
        return ""
