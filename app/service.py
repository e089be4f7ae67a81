"""The running side of an app: starts its container, knows its state, stops it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

from dependency_injector.containers import Container
from starlette.requests import HTTPConnection

from containers.errors import NotReadyError
from containers.lifecycle import running
from containers.registry import ModelRegistry

STATE_ATTRIBUTE = "vllm_di"

State = Literal["not started", "starting", "ready", "stopping", "stopped", "failed"]

HINTS: dict[State, str] = {
    "not started": "The app's lifespan has not run: use `with TestClient(app)`, or "
    "run a mounted sub-app's lifespan from its parent's.",
    "starting": "Wait until the model is loaded.",
    "stopping": "The server is shutting down.",
    "stopped": "The app's lifespan has ended.",
    "failed": "The model could not be loaded; the server's log says why.",
}


class Service:
    """An application container and what an app needs to know of its life.

    Args:
        container: An ``ApplicationContainer``; it is started by :meth:`lifespan` only,
            never by a request.

    Attributes:
        state: Where the container is in its life.
        error: What failed, in state ``failed``.
        on_change: Called after every change of ``state``, on the event loop.
    """

    def __init__(self, container: Container) -> None:
        self.container = container
        self.state: State = "not started"
        self.error: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._registry: ModelRegistry | None = None

    @property
    def registry(self) -> ModelRegistry:
        """The running models.

        Raises:
            NotReadyError: The app is not ready; its text says why.
        """
        if self._registry is None:
            raise NotReadyError(
                provider="the model", state=self.state, hint=HINTS.get(self.state, "")
            )
        return self._registry

    @asynccontextmanager
    async def lifespan(self, *, wait_until_ready: bool = True) -> AsyncIterator[None]:
        """Start the container, and stop it at the end.

        Args:
            wait_until_ready: Whether to enter only once everything is loaded, and
                raise what failed. Otherwise the start goes on in the background;
                ``state`` and ``on_change`` tell its end.
        """
        settled, stop = asyncio.Event(), asyncio.Event()
        self._enter("starting")
        live = asyncio.create_task(self._live(settled, stop), name="vllm-di service")
        try:
            if wait_until_ready:
                await settled.wait()
                if self.error is not None:
                    raise self.error
            yield
        finally:
            stop.set()
            if not settled.is_set():
                live.cancel()
            await asyncio.wait([live])
        if not live.cancelled():
            live.result()

    async def _live(self, settled: asyncio.Event, stop: asyncio.Event) -> None:
        self.error = None
        try:
            async with running(self.container) as application:
                self._registry = application.registry
                self._enter("ready")
                settled.set()
                await stop.wait()
                self._enter("stopping")
        except asyncio.CancelledError:
            self._enter("stopped")
            raise
        except Exception as error:
            self.error = error
            self._enter("failed")
            if settled.is_set():
                raise
        else:
            self._enter("stopped")
        finally:
            settled.set()

    def _enter(self, state: State) -> None:
        self.state = state
        if state != "ready":
            self._registry = None
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
