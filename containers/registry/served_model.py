"""One model of an app: its current generation, how it stands, what it has loaded."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from dependency_injector.containers import Container

from containers.errors import NotReadyError, StopError
from containers.lifecycle import Running
from containers.registry.generation import Generation
from containers.settings import ModelSettings, ServerSettings

logger = logging.getLogger(__name__)

ModelState = Literal[
    "not started",
    "starting",
    "ready",
    "failed",
    "restarting",
    "healing",
    "engine dead",
    "stopping",
    "stopped",
]

HINTS: dict[ModelState, str] = {
    "not started": "Models start one after the other; wait for its turn.",
    "starting": "Wait until the model is loaded.",
    "failed": "It could not be loaded; the server's log says why.",
    "restarting": "Its engine is being replaced for new settings; ask again.",
    "healing": "Its engine has died and is being replaced; ask again.",
    "engine dead": "The engine's process has died; restart the server.",
    "stopping": "The server is shutting down; ask another one.",
    "stopped": "The server has stopped.",
}
N_REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """What is remembered of a generation.

    Attributes:
        number: 1 for the first of a start.
        cause: Why there is it: ``start``, ``reload`` or ``heal``.
        began_at: Seconds since the epoch when its start began.
        seconds: Seconds its start took.
    """

    number: int
    cause: str
    began_at: float
    seconds: float


class ServedModel:
    """One entry of ``models``, from its start to its stop, through its generations.

    Args:
        container: The model's ``ModelContainer``.
        server: Settings that bound how long starting and stopping may take.

    Attributes:
        generation: The current generation.
        state: Where it is in its life.
        error: Why it did not start, in state ``failed``.
        on_change: Called after every change of ``state``, on the event loop.
        quiesce: Waits until the requests of this moment have been answered, at most
            the seconds it is given.
        history: Its generations of this start, oldest first; the last 50.
    """

    def __init__(self, container: Container, server: ServerSettings) -> None:
        self.generation = Generation(container, number=1, cause="start")
        self.state: ModelState = "not started"
        self.error: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self.quiesce: Callable[[float], Awaitable[Any]] = asyncio.sleep
        self.history: deque[GenerationRecord] = deque(maxlen=N_REMEMBERED)
        self.server = server
        self._loaded: Running | None = None
        self._retiring: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"ServedModel({self.name!r}, {self.state})"

    @property
    def container(self) -> Container:
        """Container of the current generation."""
        return self.generation.container

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
        self.history.clear()
        first = Generation(self.container, number=1, cause="start")
        self.enter("starting")
        try:
            loaded = await first.start(self.server)
        except BaseException as error:
            self.error = error
            self.enter("failed" if isinstance(error, Exception) else "stopped")
            raise
        self.become(first, loaded)

    async def stop(self) -> None:
        """Close what it has loaded; a second call does nothing.

        Raises:
            StopError: Something did not close cleanly; every close was attempted.
        """
        if self.state in ("not started", "stopped", "failed"):
            return
        self.enter("stopping")
        try:
            for retiring in self._retiring:
                retiring.cancel()
            await asyncio.gather(*self._retiring, return_exceptions=True)
            await self.generation.stop()
        finally:
            self.enter("stopped")

    def become(self, generation: Generation, loaded: Running) -> None:
        """Answer requests with a generation from now on, at one stroke."""
        self.generation = generation
        self.history.append(
            GenerationRecord(
                number=generation.number,
                cause=generation.cause,
                began_at=generation.began_at or 0.0,
                seconds=generation.seconds or 0.0,
            )
        )
        self.enter("ready", loaded)

    def retire(self, generation: Generation) -> None:
        """Stop a generation that is no more current, once its requests are answered."""
        task = asyncio.create_task(
            self._retire(generation), name=f"retiring {generation!r} of {self.name}"
        )
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    def enter(self, state: ModelState, loaded: Running | None = None) -> None:
        """Be in a state; without loaded objects no request is answered in it."""
        self.state, self._loaded = state, loaded
        self.on_change()

    async def _retire(self, generation: Generation) -> None:
        try:
            await self.quiesce(self.server.drain_timeout_s)
        finally:
            try:
                await generation.stop()
            except StopError as error:
                logger.error("%r did not stop cleanly: %s", generation, error)  # noqa: TRY400  # a sentence
