"""One model of an app: its current generation, how it stands, what it has loaded."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from dependency_injector.containers import Container

from containers.errors import NotReadyError, StopError
from containers.lifecycle import Running
from containers.registry.generation import Generation
from containers.registry.states import HINTS, ON_DEMAND, WITHOUT_MEMORY, ModelState
from containers.registry.tally import Tally
from containers.registry.uses import Uses
from containers.settings import ModelSettings, ServerSettings

logger = logging.getLogger(__name__)

N_REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """What is remembered of a generation.

    Attributes:
        number: 1 for the first of a start.
        cause: Why there is it: ``start``, ``reload``, ``heal`` or ``load``.
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
        tally: Starts and stops its generations, and counts that.
        uses: Its requests, counted where it may go when nobody uses it.
        resting: Loaded objects of an engine that sleeps, in state ``asleep``.
        cards: What ``/v1/models`` says of it while it is not loaded; ``None`` before
            it has been loaded once.
    """

    def __init__(self, container: Container, server: ServerSettings) -> None:
        self.generation = Generation(container, number=1, cause="start")
        self.state: ModelState = "not started"
        self.error: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None
        self.quiesce: Callable[[float], Awaitable[Any]] = asyncio.sleep
        self.history: deque[GenerationRecord] = deque(maxlen=N_REMEMBERED)
        self.server = server
        self.tally = Tally()
        self.uses = Uses()
        self.resting: Running | None = None
        self.cards: list[Any] | None = None
        self._loaded: Running | None = None
        self._able: frozenset[str] | None = None
        self._adapters: dict[str, Any] = {}
        self._retiring: set[asyncio.Task[None]] = set()
        self._settings: ModelSettings
        self._read_from: object = None

    def __repr__(self) -> str:
        return f"ServedModel({self.name!r}, {self.state})"

    @property
    def container(self) -> Container:
        """Container of the current generation."""
        return self.generation.container

    @property
    def settings(self) -> ModelSettings:
        """The model's settings."""
        provider = self.generation.container.settings
        source = (provider, provider.last_overriding)
        if source != self._read_from:
            self._settings, self._read_from = provider(), source
        return self._settings

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
    def is_lazy(self) -> bool:
        """Whether its first request loads it."""
        return self.settings.load == "lazy"

    @property
    def is_retiring(self) -> bool:
        """Whether it has generations that wait until their requests are answered."""
        return bool(self._retiring)

    @property
    def is_able(self) -> bool:
        """Whether it answers requests, be it after they have waited for it to load."""
        return self.is_ready or self.state in ON_DEMAND

    @property
    def memory_gib(self) -> float:
        """GiB it takes now, as its settings say."""
        return 0.0 if self.state in WITHOUT_MEMORY else self.settings.memory_gib or 0.0

    @property
    def stays(self) -> bool:
        """Whether nothing makes it go while it is well, so nobody needs to count."""
        settings, has_budget = self.settings, self.server.memory_budget_gib is not None
        return settings.idle_timeout_s is None and (settings.pinned or not has_budget)

    def can(self, provider: str) -> bool | None:
        """Whether it has such an object; ``None`` if that is not known yet."""
        if not self.is_able:
            return False
        return None if self._able is None else provider in self._able

    @property
    def is_errored(self) -> bool:
        """Whether it is loaded and its engine has died."""
        engine = getattr(self._loaded, "engine", None) if self._loaded else None
        return bool(getattr(engine, "errored", False))

    @property
    def adapters(self) -> dict[str, Any]:
        """vLLM's ``LoRARequest`` of each adapter it serves, by name."""
        if self._loaded is None:
            return self._adapters
        return getattr(getattr(self._loaded, "models", None), "lora_requests", {})

    async def start(self) -> None:
        """Load its graph, unless its settings say that its first request does.

        Raises:
            GraphError: The graph cannot be started.
            StartError: A resource did not start; nothing is left loaded.
        """
        self.error = None
        self.history.clear()
        self._adapters, self._able, self.cards = {}, None, None
        if self.is_lazy:
            self.rest()
            return
        first = Generation(self.container, number=1, cause="start")
        self.enter("starting")
        try:
            loaded = await self.tally.start(first, self.server)
        except BaseException as error:
            self.error = error
            self.enter("failed" if isinstance(error, Exception) else "stopped")
            raise
        self.become(first, loaded)

    def rest(self) -> None:
        """Be there without being loaded, until the first request."""
        self.generation = Generation(self.container, number=1, cause="start")
        self.enter("unloaded")

    async def stop(self) -> None:
        """Close what it has loaded; a second call does nothing.

        Raises:
            StopError: Something did not close cleanly; every close was attempted.
        """
        if self.state in ("not started", "stopped", "failed"):
            return
        self.enter("stopping")
        try:
            await self.end_retiring()
            await self.tally.stop(self.generation)
        finally:
            self.resting = None
            self.enter("stopped")

    async def end_retiring(self) -> None:
        """Stop at once what waits until its requests are answered."""
        for retiring in self._retiring:
            retiring.cancel()
        await asyncio.gather(*self._retiring, return_exceptions=True)

    def become(self, generation: Generation, loaded: Running) -> None:
        """Answer requests with a generation from now on, at one stroke."""
        self.generation, self.resting = generation, None
        objects = vars(loaded).items()
        self._able = frozenset(name for name, each in objects if each is not None)
        self.history.append(
            GenerationRecord(
                number=generation.number,
                cause=generation.cause,
                began_at=generation.began_at or 0.0,
                seconds=generation.seconds or 0.0,
            )
        )
        self.enter("ready", loaded)

    async def hold_until_quiet(self) -> None:
        """Be in use until the requests of this moment have been answered.

        Requests of a model that stays are not counted; this is for one that may go
        from now on.
        """
        with self.uses.one():
            while not await self.quiesce(self.server.drain_timeout_s):
                pass

    def retire(self, generation: Generation) -> None:
        """Stop a generation that is no more current, once its requests are answered."""
        self.in_background(self._retire(generation), name=f"retiring {generation!r}")

    def in_background(
        self, work: Coroutine[Any, Any, None], *, name: str
    ) -> asyncio.Task[None]:
        """Do something beside, until the stop at the latest."""
        task = asyncio.create_task(work, name=f"{name} of {self.name}")
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
        return task

    def enter(self, state: ModelState, loaded: Running | None = None) -> None:
        """Be in a state; without loaded objects no request is answered in it."""
        if loaded is None and self._loaded is not None:
            self._adapters = dict(self.adapters)
        self.state, self._loaded = state, loaded
        self.on_change()

    async def _retire(self, generation: Generation) -> None:
        try:
            await self.tally.drain(self.quiesce, self.server.drain_timeout_s)
        finally:
            try:
                await self.tally.stop(generation)
            except StopError as error:
                logger.error("%r did not stop cleanly: %s", generation, error)  # noqa: TRY400  # a sentence
