"""A canary: proof, again and again, that tokens come out of an engine."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from containers.settings import CanarySettings
from containers.vllm_api.probe import generate_one_token


class Canary:
    """Asks an engine for one token at an interval.

    Args:
        engine: Client of a started engine.
        settings: Interval and timeout.

    Attributes:
        trouble: Why the last one failed, or an empty string.
    """

    def __init__(self, engine: Any, settings: CanarySettings) -> None:
        self._engine = engine
        self._settings = settings
        self._task: asyncio.Task[None] | None = None
        self.trouble = ""

    def sings_for(self, engine: Any, settings: CanarySettings | None) -> bool:
        """Whether it is this engine's, and as the settings want it."""
        return self._engine is engine and self._settings == settings

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
            await asyncio.sleep(self._settings.interval_s)

    async def _sing(self) -> str:
        timeout_s = self._settings.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await generate_one_token(self._engine, f"canary-{uuid4().hex}")
        except TimeoutError:
            return f"the canary got no token within {timeout_s:g} s"
        except Exception as error:  # noqa: BLE001  # whatever fails is the finding
            return f"the canary failed: {error}"
        return ""
