"""Requests in flight: counted, waited for, and ended when time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Flights:
    """The requests an app is answering at this moment.

    One event loop's: all of it is called on the loop that serves the app.
    """

    def __init__(self) -> None:
        self._by_era: dict[int, int] = {0: 0}
        self._era = 0
        self._one_less = asyncio.Event()
        self._cut = asyncio.Event()

    @property
    def n(self) -> int:
        """How many there are."""
        return sum(self._by_era.values())

    @property
    def cut(self) -> asyncio.Event:
        """Set when every request in flight has to end now."""
        return self._cut

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a request while it is being answered."""
        era = self.begin()
        try:
            yield
        finally:
            self.end(era)

    def begin(self) -> int:
        """Count one more, and give what :meth:`end` wants to know."""
        self._by_era[self._era] += 1
        return self._era

    def end(self, era: int) -> None:
        """Count one less."""
        self._by_era[era] -= 1
        self._one_less.set()

    async def land(self, *, timeout_s: float) -> bool:
        """Wait until none is left; whether that came true in time."""
        return await self._until(lambda: self.n == 0, timeout_s)

    async def land_those_of_now(self, timeout_s: float) -> bool:
        """Wait for the requests of this moment, not for those that come meanwhile."""
        era = self._era
        self._era += 1
        self._by_era[self._era] = 0
        in_time = await self._until(lambda: self._n_until(era) == 0, timeout_s)
        if in_time:
            for ended in [each for each in self._by_era if each <= era]:
                del self._by_era[ended]
        return in_time

    def _n_until(self, era: int) -> int:
        return sum(n for each, n in self._by_era.items() if each <= era)

    async def _until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not condition():
                    self._one_less.clear()
                    await self._one_less.wait()
        return condition()

    def end_all(self) -> None:
        """End what is in flight: streams with an error event, others with 503."""
        self._cut.set()
