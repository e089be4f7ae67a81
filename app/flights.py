"""Requests in flight: counted, waited for, and ended when time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Flights:
    """The requests an app is answering at this moment.

    One event loop's: all of it is called on the loop that serves the app.
    """

    def __init__(self) -> None:
        self._n = 0
        self._landed = asyncio.Event()
        self._landed.set()
        self._cut = asyncio.Event()

    @property
    def n(self) -> int:
        """How many there are."""
        return self._n

    @property
    def cut(self) -> asyncio.Event:
        """Set when every request in flight has to end now."""
        return self._cut

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a request while it is being answered."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """Count one more."""
        self._n += 1
        self._landed.clear()

    def end(self) -> None:
        """Count one less."""
        self._n -= 1
        if self._n == 0:
            self._landed.set()

    async def land(self, *, timeout_s: float) -> bool:
        """Wait until none is left; whether that came true in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._n:
                    await self._landed.wait()
        return self._n == 0

    def end_all(self) -> None:
        """End what is in flight: streams with an error event, others with 503."""
        self._cut.set()
