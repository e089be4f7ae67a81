"""One model of an app: its container, how it stands, what it has loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Literal

from dependency_injector.containers import Container

from containers.errors import NotReadyError
from containers.lifecycle import Running, running
from containers.settings import ModelSettings, ServerSettings

ModelState = Literal[
    "not started",
    "starting",
    "ready",
    "failed",
    "engine dead",
    "stopping",
    "stopped",
]

HINTS: dict[ModelState, str] = {
    "not started": "Models start one after the other; wait for its turn.",
    "starting": "Wait until the model is loaded.",
    "failed": "It could not be loaded; the server's log says why.",
    "engine dead": "The engine's process has died; restart the server.",
    "stopping": "The server is shutting down; ask another one.",
    "stopped": "The server has stopped.",
}


class ServedModel:
    """One entry of ``models``, from its start to its stop.

    Args:
        container: The model's ``ModelContainer``.
        server: Settings that bound how long starting and stopping may take.

    Attributes:
        container: The same.
        state: Where it is in its life.
        error: Why it did not start, in state ``failed``.
        on_change: Called after every change of ``state``, on the event loop.
    """

    def __init__(self, container: Container, server: ServerSettings) -> None:
        self.container = container
        self.state: ModelState = "not started"
        self.error: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._server = server
        self._loaded: Running | None = None
        self._stack = AsyncExitStack()

    def __repr__(self) -> str:
        return f"ServedModel({self.name!r}, {self.state})"

    @property
    def settings(self) -> ModelSettings:
        """The model's settings."""
        settings: ModelSettings = self.container.settings()
        return settings

    @property
    def name(self) -> str:
        """The first of its names, which answers carry."""
        return self.settings.name

    @property
    def loaded(self) -> Running:
        """Its loaded objects, by provider name.

        Raises:
            NotReadyError: It is not ready; the text says why.
        """
        if self._loaded is None:
            raise NotReadyError(
                provider=f"the model {self.name!r}",
                state=self.state,
                hint=HINTS.get(self.state, ""),
            )
        return self._loaded

    @property
    def is_ready(self) -> bool:
        """Whether it answers requests."""
        return self._loaded is not None

    @property
    def is_errored(self) -> bool:
        """Whether it is loaded and its engine has died."""
        engine = getattr(self._loaded, "engine", None) if self._loaded else None
        return bool(getattr(engine, "errored", False))

    @property
    def adapters(self) -> dict[str, Any]:
        """vLLM's ``LoRARequest`` of each adapter it serves now, by name."""
        models = getattr(self._loaded, "models", None) if self._loaded else None
        return getattr(models, "lora_requests", {})

    async def start(self) -> None:
        """Load its graph.

        Raises:
            GraphError: The graph cannot be started.
            StartError: A resource did not start; nothing is left loaded.
        """
        self.error = None
        self._enter("starting")
        block = running(
            self.container,
            timeout_s=self._server.start_timeout_s,
            resource_timeout_s=self._server.resource_start_timeout_s,
            stop_timeout_s=self._server.stop_timeout_s,
        )
        try:
            loaded = await self._stack.enter_async_context(block)
        except BaseException as error:
            self.error = error
            self._enter("failed" if isinstance(error, Exception) else "stopped")
            raise
        self._enter("ready", loaded)

    async def stop(self) -> None:
        """Close what it has loaded; a second call does nothing.

        Raises:
            StopError: Something did not close cleanly; every close was attempted.
        """
        if self.state in ("not started", "stopped", "failed"):
            return
        self._enter("stopping")
        try:
            await self._stack.aclose()
        finally:
            self._enter("stopped")

    def note_engine_death(self) -> None:
        """Answer no more requests, since the engine has died."""
        self._enter("engine dead")

    def _enter(self, state: ModelState, loaded: Running | None = None) -> None:
        self.state, self._loaded = state, loaded
        self.on_change()
