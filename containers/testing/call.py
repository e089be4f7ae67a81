"""One request in flight, which can be interrupted from anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal, TypeVar

from containers.testing.requests import RecordedRequest, RequestState

Interruption = Literal["abort", "death"]
_T = TypeVar("_T")


class Interrupted(Exception):  # noqa: N818  # a signal between two modules, no error
    """The wait is over: the request was aborted or its engine died."""


class Call:
    """A running request: its record, its waits, and who may end them.

    Args:
        request: What was asked.
        n: How many answers it wants.
        is_paused: Whether the engine has stopped generating for now.
    """

    def __init__(
        self, request: RecordedRequest, *, n: int, is_paused: Callable[[], bool]
    ) -> None:
        self.request = request
        self.n = n
        self.n_tokens = 0
        self.state: RequestState = "running"
        self.interruption: Interruption | None = None
        self.ignores_pause = False
        self._is_paused = is_paused
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Timeout | None = None
        self._resumed = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def record(self) -> RecordedRequest:
        """The request as it stands."""
        return replace(self.request, state=self.state, tokens_out=self.n_tokens)

    def end(self, state: RequestState) -> None:
        """Note how it ended; the first note stands."""
        if self.state == "running":
            self.state = state
            self._ended.set()

    async def ended(self) -> None:
        """Wait until it has ended."""
        await self._ended.wait()

    def interrupt(self, why: Interruption) -> None:
        """End its waits; safe from any thread, the first reason stands."""
        if self.interruption is None and self.state == "running":
            self.interruption = why
            self._loop.call_soon_threadsafe(self._wake)

    def resume(self) -> None:
        """Tell it that the engine generates again; safe from any thread."""
        self._loop.call_soon_threadsafe(self._resumed.set)

    async def turn(self, delay_s: float = 0.0) -> None:
        """Let others run, then wait for ``delay_s`` and while the engine is paused.

        Raises:
            Interrupted: The request was interrupted, before or meanwhile.
        """
        if delay_s > 0:
            await self.wait(lambda: asyncio.sleep(delay_s))
        else:
            await asyncio.sleep(0)
        self._resumed.clear()
        while self._is_paused() and not self.ignores_pause:
            await self.wait(self._resumed.wait)
        if self.interruption:
            raise Interrupted

    async def wait(self, start: Callable[[], Awaitable[_T]]) -> _T:
        """Await what ``start`` returns, unless the request is interrupted first.

        Raises:
            Interrupted: It was, before or meanwhile; the awaited thing is cancelled.
        """
        if self.interruption:
            raise Interrupted
        try:
            async with asyncio.timeout(None) as self._waiting:
                return await start()
        except TimeoutError:
            if self.interruption is None:
                raise
            raise Interrupted from None
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None:
            self._waiting.reschedule(self._loop.time())
