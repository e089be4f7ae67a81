"""One resource's whole life, in one task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from dependency_injector import providers

from containers.graph import Node
from containers.lifecycle.loading import loading
from containers.lifecycle.record import Record, State
from containers.lifecycle.resource import Resource

Announce = Callable[[Record], None]

LAST_CHANCE_S = 1.0
RESERVE_S = 2.0


class Holder:
    """Loads a resource once what it needs is ready, and closes it after its users.

    All of it happens in one task, so task groups, cancel scopes and context variables
    may be held open across a builder's ``yield``.

    Args:
        node: The resource as the graph shows it at the start.
        needs: Holders of the resources it uses, directly or through other providers.
        singletons: Providers that may keep a reference to its object.
        announce: Called with every new record.
    """

    def __init__(
        self,
        node: Node,
        *,
        needs: Sequence[Holder],
        singletons: Sequence[providers.BaseSingleton[Any]],
        announce: Announce,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.needs = tuple(needs)
        self.users: list[Holder] = []
        for need in needs:
            need.users.append(self)
        self.record = Record(node.name)
        self.value: Any = None
        self.error: BaseException | None = None
        self.close_error: Exception | None = None
        self.settled: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._node = node
        self._singletons = tuple(singletons)
        self._homes: dict[Announce, tuple[Resource[Any], ...]] = {announce: ()}
        self._levels: int = 1 + max((need._levels for need in needs), default=0)  # noqa: SLF001
        self._closing = asyncio.Event()
        self._deadline: float | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._is_overdue = False
        self._is_abandoned = False

    @property
    def name(self) -> str:
        """Name of the provider."""
        return self._node.name

    @property
    def is_ready(self) -> bool:
        """Whether the object is there."""
        return self.record.state is State.READY

    def start(self, timeout_s: float | None) -> None:
        """Begin; :attr:`settled` tells the end of the start.

        Args:
            timeout_s: Seconds the builder may take once it is called.
        """
        self._timeout_s = timeout_s
        self._task = asyncio.create_task(self._live(), name=f"resource {self.name}")
        self._task.add_done_callback(self._on_done)

    def fail(self, error: BaseException) -> None:
        """Count the start as failed; the builder may still be running."""
        if not self.settled.done():
            self.error = error
            self._become(State.FAILED, error=error)
            self.settled.set_exception(_NotLoadedError(self.name))
            self.settled.exception()  # marks it as seen

    def close_by(self, deadline: float) -> None:
        """Close once all users are closed; :attr:`closed` tells when.

        Args:
            deadline: Time on the loop's clock by which everything should be closed.
        """
        self._deadline = deadline
        self._closing.set()
        if self.is_ready or self.closed.done():
            return
        self.settled.cancel()
        self._set_timer()
        if not self._task.cancelling():
            self._task.cancel()

    def lend(self, announce: Announce, node: Node) -> None:
        """Let another container have the loaded object too.

        Args:
            announce: Called with every new record, as well.
            node: The resource as that container's graph shows it.
        """
        lent = _unloaded(node)
        for resource in lent:
            resource.show(self.record.state, self.value)
        self._homes[announce] = lent

    def need_only(self, holders: Collection[Holder]) -> None:
        """Let what it was built from, and is not among these, close before it."""
        for need in self.needs:
            if need not in holders:
                need.users.remove(self)
        self.needs = tuple(need for need in self.needs if need in holders)

    def leave(self, announce: Announce) -> bool:
        """Count one container less, and tell whether it was the last.

        Its providers give the object no more, unless it is the last: then they do
        until the object is closed.
        """
        if len(self._homes) == 1:
            return True
        for resource in self._homes.pop(announce):
            resource.show(State.STOPPED)
        return False

    def forget(self) -> None:
        """Drop every reference to the object."""
        self.value = None
        for singleton in self._singletons:
            singleton.reset()
        for need in self.needs:
            need.users.remove(self)
        self.needs = ()  # two containers may have it when their loop goes down

    async def _live(self) -> None:
        try:
            await asyncio.sleep(0)  # an eager task, too, begins after its creation
            await _all(need.settled for need in self.needs)
            if not all(need.is_ready for need in self.needs):
                return
            (home,) = self._homes
            self._homes[home] = _unloaded(self._node)
            self._become(State.STARTING, started_at=time.time())
            self._limit_start()
            async with loading(self._node.provider, self.name) as value:
                self._load(value)
                await self._until_closing()
        except BaseException as error:  # noqa: BLE001  # kept for who started it
            self._take(error)

    def _limit_start(self) -> None:
        self._started = time.perf_counter()
        if self._timeout_s is not None:
            late = TimeoutError(f"it was not ready after {self._timeout_s:g} s")
            self._call_later(self._timeout_s, self.fail, late)

    def _load(self, value: Any) -> None:
        self._cancel_timers()
        if self.settled.done():
            return
        self.value = value
        self._become(
            State.READY,
            value,
            ready_at=time.time(),
            seconds=time.perf_counter() - self._started,
        )
        self.settled.set_result(None)

    async def _until_closing(self) -> None:
        try:
            await self._closing.wait()
            await _all(user.closed for user in self.users)
        except asyncio.CancelledError:
            # The loop is going down with all its tasks: keep the order even so.
            await _all(u.closed for u in self.users if u._task.cancelling())  # noqa: SLF001
            raise
        finally:
            if self.is_ready:
                self._become(State.STOPPING)
            self._set_timer()

    def _set_timer(self) -> None:
        self._cancel_timers()
        if self._deadline is not None:
            left = max(0.0, self._deadline - asyncio.get_running_loop().time())
            # What is below must still get its turn before the deadline.
            reserved = RESERVE_S * (self._levels - 1)
            self._call_later(max(left / self._levels, left - reserved), self._overdue)

    def _overdue(self) -> None:
        self._is_overdue = True
        self._task.cancel()
        self._call_later(LAST_CHANCE_S, self._abandon)

    def _abandon(self) -> None:
        self._take(asyncio.CancelledError())
        self._finish()
        self._is_abandoned = True

    def _take(self, error: BaseException) -> None:
        """Sort out what ended the task before its time."""
        if isinstance(error, asyncio.CancelledError) and self._task.cancelling():
            if not self._is_overdue:
                return
            doing = "starting" if self.record.ready_at is None else "closing"
            error = TimeoutError(f"it was still {doing} when its time was up")
        if not self.settled.done():
            self.fail(error)
        elif self.close_error is None:
            self.close_error = _noted(error, f"while {self.name} was being closed")

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # before its first step
            self.fail(asyncio.CancelledError())
        self._finish()

    def _finish(self) -> None:
        self._cancel_timers()
        if self.close_error is not None and self.error is None:
            self._become(State.FAILED, error=self.close_error)
        elif self.record.state in (State.STARTING, State.STOPPING):
            self._become(State.STOPPED)
        if not self.closed.done():
            self.closed.set_result(None)

    def _become(self, state: State, *loaded: Any, **changes: Any) -> None:
        if self._is_abandoned:  # the providers may have been started again since
            return
        self.record = replace(self.record, state=state, **changes)
        for announce, lent in tuple(self._homes.items()):
            for resource in lent:
                resource.show(state, *loaded)
            announce(self.record)

    def _call_later(
        self, delay_s: float, call: Callable[..., None], *args: Any
    ) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(delay_s, call, *args))

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


class _NotLoadedError(Exception):
    """Marks the start of a resource as failed; its holder has the real error."""


def _unloaded(node: Node) -> tuple[Resource[Any], ...]:
    """The providers that are to give the object; loaded ones are somebody else's."""
    resources = [p for p in node.chain if isinstance(p, Resource) and not p.initialized]
    for resource in resources:
        if resource.state in (State.STARTING, State.STOPPING):
            raise RuntimeError(
                f"{resource.name} is {resource.state} in another container or lifecycle"
            )
    return tuple(resources)


async def _all(futures: Iterable[asyncio.Future[None]]) -> None:
    if waited := list(futures):
        await asyncio.wait(waited)


def _noted(error: BaseException, note: str) -> Exception:
    if not isinstance(error, Exception):
        wrapped = RuntimeError(f"{type(error).__name__}: {error}")
        wrapped.__cause__ = error
        error = wrapped
    error.add_note(note)
    return error
