"""The lifespan of an app, from its start to its end."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message


class Lifespan:
    """Starts an app, whatever wraps it, and stops it.

    Args:
        app: An ASGI app.

    Attributes:
        state: What the app's own lifespan yields, for every request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._said: asyncio.Queue[str] = asyncio.Queue()
        self._turn = asyncio.Lock()
        self._is_asked_to_start = False

    @property
    def is_begun(self) -> bool:
        """Whether the app has begun to start."""
        return self._task is not None

    async def start(self) -> None:
        """Start the app, unless it has started; requests at once wait for one start.

        Raises:
            Exception: What its start failed with.
        """
        async with self._turn:
            if self._task is not None:
                return
            self._is_asked_to_start = False
            self._task = asyncio.create_task(self._live(), name="app lifespan")
            try:
                await self._hear("startup", self._task)
            except BaseException:
                self._task.cancel()
                await asyncio.wait([self._task])
                self._task = None
                raise

    async def stop(self) -> None:
        """Stop the app, if it is started.

        Raises:
            Exception: What its stop failed with.
        """
        async with self._turn:
            task, self._task = self._task, None
            if task is not None:
                self._stop.set()
                await self._hear("shutdown", task)
                await task

    async def _live(self) -> None:
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self.state,
        }
        await self._app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if not self._is_asked_to_start:
            self._is_asked_to_start = True
            return {"type": "lifespan.startup"}
        await self._stop.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: Message) -> None:
        await self._said.put(message["type"])

    async def _hear(self, phase: str, task: asyncio.Task[None]) -> None:
        """Wait until the app says that a phase is over, or ends without a word."""
        said = asyncio.create_task(self._said.get())
        try:
            await asyncio.wait({said, task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            said.cancel()
        if not said.done() or said.result() != f"lifespan.{phase}.complete":
            await task  # raises what it failed with
            raise RuntimeError(f"the app's lifespan failed at {phase}")
