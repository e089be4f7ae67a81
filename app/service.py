"""The running side of an app: starts its container, knows its state, stops it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from dependency_injector.containers import Container
from starlette.requests import HTTPConnection

from app.flights import Flights
from app.heap import Heap
from app.metrics import RequestCounts
from app.one_process import refuse_sibling_workers
from app.phases import HINTS, State
from app.reloadable import Reloadable
from app.shared_writes import Rounds
from app.status.troubles import Troubles
from app.supervision import Supervisor
from app.traces import traced, traces_of
from containers.errors import NotReadyError
from containers.lifecycle import lifecycle_of, running
from containers.registry import ModelRegistry, ServedModel

STATE_ATTRIBUTE = "vllm_di"

MARGIN_S = 1.0
"""Seconds the application waits longer than each of its models may take to stop."""


class Service(Reloadable):
    """An application container and what an app needs to know of its life.

    Args:
        container: An ``ApplicationContainer``; it is started by :meth:`lifespan` only,
            never by a request.

    Attributes:
        state: Where the container is in its life.
        error: What failed, in state ``failed``.
        flights: The requests being answered.
        requests: What is counted of them; empty where the settings say so.
        traces: Where spans of its life and its requests go; ``None`` for nowhere.
        on_change: Called after every change of ``state``, on the event loop.
        troubles: Recent warnings and errors.
        is_leaving: Whether it is over, so that who watches should go.
        run: Differs from start to start, so that who watches notices a new one.
    """

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        self.state: State = "not started"
        self.error: BaseException | None = None
        self.flights = Flights()
        self.requests = RequestCounts()
        self.traces = traces_of(container.settings().server)
        self.on_change: Callable[[], None] = lambda: None
        self.supervisor = Supervisor()
        self.troubles = Troubles()
        self.is_leaving = False
        self.run = ""
        self._rounds = Rounds()
        self._began = time.monotonic()
        self._drain_began: float | None = None

    @property
    def registry(self) -> ModelRegistry:
        """The models; each answers as soon as it is loaded, before the others are.

        Raises:
            NotReadyError: The app takes no requests; its text says why.
        """
        if self.state not in ("starting", "ready"):
            raise NotReadyError(
                provider="the model", state=self.state, hint=HINTS.get(self.state, "")
            )
        return self._models

    def heap(self) -> Heap:
        """The heap of a process that is this server's own, to be frozen once ready."""
        return Heap(changes=lambda: self.n_changes, is_busy=lambda: self.flights.n > 0)

    @property
    def n_changes(self) -> int:
        """How often what is loaded has changed: reloads, heals, loads and unloads."""
        return self._models.events.n

    @property
    def models(self) -> tuple[ServedModel, ...]:
        """How each model stands, the default one first."""
        return self._models.models

    @property
    def _models(self) -> ModelRegistry:
        registry: ModelRegistry = self.container.registry()
        return registry

    @property
    def sse_keep_alive_interval_s(self) -> int:
        """Seconds after which a silent stream gets a comment line; 0 for never."""
        interval_s: int = self.container.settings().server.sse_keep_alive_interval
        return interval_s

    @property
    def rounds(self) -> Rounds | None:
        """Those of the event loop, if events of a stream may share a write."""
        shares: bool = self.container.settings().performance.shared_writes
        return self._rounds if shares else None

    @property
    def reloads_on_change(self) -> bool:
        """Whether a change of a file is to be followed, now that models serve."""
        reloads: bool = self.container.settings().server.reload_on_change
        return reloads and self.state == "ready"

    @property
    def _stop_timeout_s(self) -> float:
        seconds: float = self.container.settings().server.stop_timeout_s
        return seconds

    @property
    def drained_s(self) -> float:
        """Seconds since the drain began; 0 before."""
        began = self._drain_began
        return 0.0 if began is None else time.monotonic() - began

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start began."""
        return time.monotonic() - self._began

    @property
    def trouble(self) -> str:
        """Why no traffic should come here, or an empty string.

        Several models are ready when one of them is, and the start of all is over;
        :meth:`trouble_of` tells of each.
        """
        if self.state != "ready":
            return self.state
        troubles = [self.trouble_of(model) for model in self.models]
        is_enough = all if self._requires_all else any
        return "" if is_enough(not each for each in troubles) else max(troubles)

    def trouble_of(self, model: ServedModel) -> str:
        """Why a model should get no traffic, or an empty string."""
        if not model.is_able:
            return model.state
        if model.generation.is_asleep:
            return "asleep"
        return self.supervisor.trouble_of(model)

    @property
    def _requires_all(self) -> bool:
        requires_all: bool = self.container.settings().server.require_all_models
        return requires_all

    @asynccontextmanager
    async def lifespan(self, *, wait_until_ready: bool = True) -> AsyncIterator[None]:
        """Start the container, and stop it at the end.

        Args:
            wait_until_ready: Whether to enter only once everything is loaded, and
                raise what failed. Otherwise the start goes on in the background;
                ``state`` and ``on_change`` tell its end.
        """
        with self.secrets.masked():
            async with self._living(wait_until_ready=wait_until_ready):
                yield

    @asynccontextmanager
    async def _living(self, *, wait_until_ready: bool) -> AsyncIterator[None]:
        refuse_sibling_workers()
        for model in self.models:
            lifecycle_of(model.container).stop_timeout_s = self._stop_timeout_s
        lifecycle_of(self.container).stop_timeout_s = self._stop_timeout_s + MARGIN_S
        settled, stop = asyncio.Event(), asyncio.Event()
        self.flights, self.error, self._began = Flights(), None, time.monotonic()
        self._drain_began, self.is_leaving = None, False
        self.run = secrets.token_hex(8)
        self._enter("starting")
        live = asyncio.create_task(self._live(settled, stop), name="vllm-di service")
        try:
            if wait_until_ready:
                await settled.wait()
                if self.error is not None:
                    raise self.error  # noqa: TRY301  # ended below like any other
            yield
        except BaseException as error:
            await self._end(live, settled, stop)
            if not live.cancelled() and live.exception():
                error.add_note(f"while stopping: {live.exception()}")
            raise
        await self._end(live, settled, stop)
        if not live.cancelled():
            live.result()

    async def _end(
        self, live: asyncio.Task[None], settled: asyncio.Event, stop: asyncio.Event
    ) -> None:
        stop.set()
        if not settled.is_set():
            live.cancel()
        await asyncio.wait([live])

    async def drain(self, *, timeout_s: float) -> None:
        """Take no new requests, let those in flight end, and end the rest.

        A host app that learns of its end before its lifespan does may call it; the
        ``vllm-di`` command does so at SIGTERM.

        Args:
            timeout_s: Seconds requests in flight may go on. Then a stream ends with an
                error event, any other request with 503.
        """
        self._drain_began = self._drain_began or time.monotonic()
        if self.state == "ready":
            self._enter("draining")
        if not await self.flights.land(timeout_s=timeout_s):
            self.flights.end_all()
            await self.flights.land(timeout_s=1.0)

    async def _live(self, settled: asyncio.Event, stop: asyncio.Event) -> None:
        try:
            stop_timeout_s = self._stop_timeout_s + MARGIN_S
            self._models.residency.aside = self.flights.aside
            for model in self.models:
                model.quiesce = self.flights.land_those_of_now
            async with (
                self.troubles.heard(),
                traced(self.traces, self.models) as end_start_up,
                running(self.container, stop_timeout_s=stop_timeout_s),
            ):
                self._enter("ready")
                end_start_up()
                settled.set()
                await self._supervise(stop)
        except asyncio.CancelledError:
            self._enter("stopped")
            raise
        except Exception as error:
            if settled.is_set():
                raise
            self.error = error
            self._enter("failed")
        else:
            self._enter("stopped")
        finally:
            settled.set()

    async def _supervise(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self.supervisor.run(self._models))
            watching.add_done_callback(self._on_models_lost)
            await stop.wait()
            watching.cancel()
        if self.state != "engine dead":
            self._enter("stopping")

    def _on_models_lost(self, watching: asyncio.Task[None]) -> None:
        if not watching.cancelled() and watching.exception() is None:
            self._enter("engine dead")

    def _enter(self, state: State) -> None:
        self.state = state
        self.is_leaving |= state in ("stopping", "stopped")
        self.on_change()


def service_of(connection: HTTPConnection) -> Service:
    """Service of the app that handles this request.

    Raises:
        NotReadyError: Nobody included serving in this app.
    """
    service: Any = getattr(connection.app.state, STATE_ATTRIBUTE, None)
    if not isinstance(service, Service):
        raise NotReadyError(
            provider="the model",
            state="not included",
            hint="Call include_serving(app, settings) on this very app.",
        )
    return service
