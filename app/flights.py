"""Requests in flight: counted, waited for, and ended when time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar


class Flight:
    """One request in flight.

    Attributes:
        era: The moment it counts for: all that began between two waits.
        is_aside: Whether it counts for none now.
        is_over: Whether it has ended.
    """

    __slots__ = ("era", "is_aside", "is_over")

    def __init__(self, era: int) -> None:
        self.era = era
        self.is_aside = self.is_over = False


_current: ContextVar[Flight] = ContextVar("flight")


class Flights:
    """The requests an app is answering at this moment.

    One event loop's: all of it is called on the loop that serves the app.
    """

    def __init__(self) -> None:
        self._by_era: dict[int, int] = {0: 0}
        self._era = 0
        self._n_aside = 0
        self._one_less = asyncio.Event()
        self._cut = asyncio.Event()
        self._told_of_cut: set[Callable[[], None]] = set()

    @property
    def n(self) -> int:
        """How many there are."""
        return sum(self._by_era.values()) + self._n_aside

    @property
    def cut(self) -> asyncio.Event:
        """Set when every request in flight has to end now."""
        return self._cut

    def tell_of_cut(self, callback: Callable[[], None]) -> None:
        """Call back once when every request in flight has to end, also if that was."""
        if self._cut.is_set():
            asyncio.get_running_loop().call_soon(self._tell, callback)
        self._told_of_cut.add(callback)

    def tell_no_more(self, callback: Callable[[], None]) -> None:
        """Take back :meth:`tell_of_cut`."""
        self._told_of_cut.discard(callback)

    def _tell(self, callback: Callable[[], None]) -> None:
        if callback in self._told_of_cut:
            callback()

    @contextmanager
    def one(self, flight: Flight | None = None) -> Iterator[None]:
        """Count a request while it is being answered.

        Args:
            flight: What :meth:`begin` gave, for one that is counted already.
        """
        flight = flight or self.begin()
        token = _current.set(flight)
        try:
            yield
        finally:
            _current.reset(token)
            self.end(flight)

    def begin(self) -> Flight:
        """Count one more, until :meth:`one` has gone on with it."""
        flight = Flight(self._era)
        self._by_era[self._era] += 1
        return flight

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let the present request be none of any moment, while it uses nothing yet.

        What waits for the requests of a moment must not wait for one that waits for it.
        """
        flight = _current.get(None)
        if flight is None or flight.is_over or flight.is_aside:
            yield
            return
        self._leave(flight)
        flight.is_aside = True
        self._n_aside += 1
        try:
            yield
        finally:
            if flight.is_aside:
                self._n_aside -= 1
                flight.is_aside, flight.era = False, self._era
                self._by_era[self._era] += 1

    def end(self, flight: Flight) -> None:
        """Count one less; :meth:`one` does so by itself."""
        flight.is_over = True
        if flight.is_aside:
            flight.is_aside = False
            self._n_aside -= 1
            self._one_less.set()
        else:
            self._leave(flight)

    def _leave(self, flight: Flight) -> None:
        self._by_era[flight.era] -= 1
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
        for callback in tuple(self._told_of_cut):
            callback()
