"""Starts and stops what a container declares, in the order its graph asks for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dependency_injector import containers

from containers.errors import StopError
from containers.graph import Graph
from containers.lifecycle.blame import note_trouble, start_error
from containers.lifecycle.holder import Holder
from containers.lifecycle.record import Record, State
from containers.lifecycle.turns import Turns
from containers.lifecycle.waits import all_closed, first_failure, slowest

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 30.0


class Lifecycle:
    """The life of one container instance.

    Everything a start needs runs on the event loop that called it, which may belong to
    any thread; the stop belongs to the same loop. No signal handler is touched: a host
    that wants to end a start cancels it, or calls :meth:`stop`.

    Args:
        container: Any dependency-injector container instance.
        stop_timeout_s: Seconds that stopping may take, and rolling back a start that
            failed; an object still being closed then is left to itself.
    """

    def __init__(
        self,
        container: containers.Container,
        *,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self.stop_timeout_s = stop_timeout_s
        self._container = container
        self._state = State.NOT_STARTED
        self._graph: Graph | None = None
        self._holders: dict[str, Holder] = {}
        self._records: dict[str, Record] = {}
        self._listeners: list[Callable[[Record], None]] = []
        self.n_blocks = 0
        self._was_ready = False
        self._turns = Turns(is_loaded=lambda: bool(self._holders))

    @property
    def state(self) -> State:
        """Where the container stands; ``failed`` also if a resource ended by itself."""
        return self._state

    @property
    def graph(self) -> Graph:
        """The container's graph as the last start has read it, or as it is before."""
        return self._graph or Graph.of(self._container)

    @property
    def records(self) -> Mapping[str, Record]:
        """Records of the resources of the last start, in their order; a snapshot."""
        return MappingProxyType(dict(self._records))

    @property
    def objects(self) -> Mapping[str, Any]:
        """Loaded objects by provider name; a snapshot."""
        ready = {h.name: h.value for h in self._holders.values() if h.is_ready}
        return MappingProxyType(ready)

    def listen(self, listener: Callable[[Record], None]) -> Callable[[], None]:
        """Call ``listener`` with every new record, on the loop of the start.

        Returns:
            What ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def borrow(self, lender: Lifecycle, names: Iterable[str]) -> None:
        """Have loaded objects of another container, before this one starts.

        Its start then builds the rest around them. They stay loaded until both
        containers are stopped, in whichever order; the last one closes them. What one
        was built from, and is not borrowed with it, may be closed before it.

        Args:
            lender: Lifecycle of a started container of the same class.
            names: Names of resources it has loaded.

        Raises:
            RuntimeError: This one has loaded objects already.
            KeyError: The lender has not loaded one of them.
        """
        if self._holders:
            raise RuntimeError("objects are borrowed before the start, not after")
        self._turns.bind()
        graph = Graph.of(self._container)
        for name in names:
            holder = lender._holders[name]  # one class
            holder.lend(self._announce, graph.nodes[name])
            holder.closed.add_done_callback(self._on_closed)
            self._holders[name] = holder
            self._records[name] = holder.record
        for holder in self._holders.values():
            holder.need_only(self._holders.values())

    async def start(
        self,
        *roots: str,
        timeout_s: float | None = None,
        resource_timeout_s: float | None = None,
    ) -> bool:
        """Load the roots and what they need, each as soon as what it needs is ready.

        Overrides made before count. What is loaded already stays as it is, so a second
        call is for further roots, or does nothing. When it fails, is cancelled, or
        takes too long, everything it had started is closed again, in reverse order,
        before it raises; another start may follow.

        Args:
            roots: Names of providers; by default all resources, except those that
                only overridden providers would have used.
            timeout_s: Seconds for the whole start; unlimited by default.
            resource_timeout_s: Seconds for each builder; unlimited by default.

        Returns:
            Whether it was this call that made the container ready.

        Raises:
            GraphError: The graph cannot be started; nothing was.
            StartError: A resource failed or took too long.
            RuntimeError: It was started in another event loop.
        """
        async with self._turns.take():
            self._was_ready = was_ready = self._state is State.READY
            if self._state is State.FAILED and self._holders:
                await self._close_all(self.stop_timeout_s)
            self._graph = graph = Graph.of(self._container)
            wanted = roots or graph.roots
            graph.check(wanted)
            batch = self._missing(graph, wanted)
            if batch:
                self._state = State.STARTING
                for holder in batch:
                    holder.start(resource_timeout_s)
                failed = await self._first_failure(batch, timeout_s)
                if failed is not None:
                    error = start_error(failed.name, failed.error, graph, wanted)
                    await self._roll_back(batch, error)
                    raise error
            self._state = State.READY
        return not was_ready

    async def stop(self, *, timeout_s: float | None = None) -> None:
        """Close everything, each after all its users; a second call does nothing.

        The order and the providers are those of the start. A start that is under way
        fails and is rolled back. A cancellation is heeded once everything is closed.

        Args:
            timeout_s: Seconds it may take; the container's ``stop_timeout_s`` by
                default.

        Raises:
            StopError: Some did not close cleanly; every close was attempted.
            RuntimeError: It was started in another event loop.
        """
        async with self._turns.take(before_waiting=self._interrupt_start):
            if self._holders:
                await self._close_all(
                    self.stop_timeout_s if timeout_s is None else timeout_s
                )
            elif self._state is State.READY:
                self._state = State.STOPPED

    def _missing(self, graph: Graph, wanted: Iterable[str]) -> list[Holder]:
        """Holders of the resources that are wanted and not loaded, lowest first."""
        if not self._holders:
            self._records.clear()
        batch = []
        for name in (name for level in graph.levels(wanted) for name in level):
            if graph.nodes[name].is_resource and name not in self._holders:
                holder = Holder(
                    graph.nodes[name],
                    needs=[self._holders[n] for n in graph.resources_under(name)],
                    singletons=graph.singletons_over(name),
                    announce=self._announce,
                )
                holder.closed.add_done_callback(self._on_closed)
                self._holders[name] = holder
                self._records[name] = holder.record
                batch.append(holder)
        return batch

    async def _first_failure(
        self, batch: Sequence[Holder], timeout_s: float | None
    ) -> Holder | None:
        try:
            return await first_failure(batch, timeout_s)
        except asyncio.CancelledError as error:
            await self._roll_back(batch, error)
            raise

    def _interrupt_start(self) -> None:
        if self._state is State.STARTING:
            late = slowest(self._holders.values())
            if late is not None:
                late.fail(RuntimeError("stop() was called meanwhile"))

    async def _roll_back(self, batch: Sequence[Holder], error: BaseException) -> None:
        """Close what this start has loaded; trouble on the way becomes notes."""
        trouble = await self._close(batch, self.stop_timeout_s)
        was_cancelled = isinstance(error, asyncio.CancelledError)
        # What an earlier start has loaded, or was borrowed, a failure does not touch.
        if self._holders:
            self._state = State.READY if self._was_ready else State.NOT_STARTED
        else:
            self._state = State.STOPPED if was_cancelled else State.FAILED
        if isinstance(trouble, StopError):
            note_trouble(error, trouble)
        elif trouble is not None and not was_cancelled:
            raise trouble from error

    async def _close_all(self, timeout_s: float) -> None:
        self._state = State.STOPPING
        error = await self._close(tuple(self._holders.values()), timeout_s)
        self._state = State.STOPPED
        if error is not None:
            raise error

    async def _close(
        self, holders: Sequence[Holder], timeout_s: float
    ) -> StopError | asyncio.CancelledError | None:
        """Close them all, come what may; what came is returned."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        own = [holder for holder in holders if holder.leave(self._announce)]
        for holder in own:
            holder.close_by(deadline)
        cancelled = await all_closed(own)
        for holder in holders:
            holder.closed.remove_done_callback(self._on_closed)
            if holder in own:
                holder.forget()
            del self._holders[holder.name]
        errors = [h.close_error for h in reversed(own) if h.close_error]
        error = StopError(errors) if errors else None
        if cancelled is not None and error is not None:
            note_trouble(cancelled, error)
        return cancelled or error

    def _on_closed(self, _: asyncio.Future[None]) -> None:
        """Notice that resources ended without a stop, as when their loop goes down."""
        if self._state not in (State.READY, State.FAILED):
            return
        holders = tuple(self._holders.values())
        self._state = State.FAILED
        if all(holder.closed.done() for holder in holders):
            if not any(holder.close_error for holder in holders):
                self._state = State.STOPPED
            for holder in holders:
                holder.forget()
            self._holders.clear()

    def _announce(self, record: Record) -> None:
        self._records[record.name] = record
        for listener in tuple(self._listeners):
            try:
                listener(record)
            except Exception:
                logger.exception("a listener failed; the start goes on")
