"""How often a model's generations start and fail, and what drains and stops take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from containers.errors import StartError
from containers.lifecycle import Running
from containers.registry.generation import Generation
from containers.settings import ServerSettings

Watch = Callable[[str, Generation], AbstractContextManager[Any]]
"""Entered around what is done (``start``, ``stop``) with a generation."""


@dataclass
class Seconds:
    """How often something was done, and how long it took in all.

    Attributes:
        n: How often.
        sum_s: Seconds in all.
    """

    n: int = 0
    sum_s: float = 0.0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count the block, however it ends."""
        began_s = perf_counter()
        try:
            yield
        finally:
            self.add(perf_counter() - began_s)

    def add(self, seconds: float) -> None:
        """Count one that took so long."""
        self.n += 1
        self.sum_s += seconds


class Tally:
    """Starts and stops the generations of one model, and counts it.

    Attributes:
        starts: How often a generation has started, by its cause.
        failures: How often one has not, by its cause and the provider that failed,
            which is empty where none did.
        drains: Waiting for requests before a generation was stopped.
        stops: Stopping generations.
        watch: What watches; nobody does by default.
    """

    def __init__(self) -> None:
        self.starts: Counter[str] = Counter()
        self.failures: Counter[tuple[str, str]] = Counter()
        self.drains, self.stops = Seconds(), Seconds()
        self.watch: Watch = lambda _, __: nullcontext()

    async def start(
        self, generation: Generation, server: ServerSettings, *, proves: bool = False
    ) -> Running:
        """Start a generation.

        Raises:
            GraphError: As :meth:`Generation.start`, also for the other errors.
            StartError: The same.
        """
        try:
            with self.watch("start", generation):
                loaded = await generation.start(server, proves=proves)
        except Exception as error:
            provider = error.resource if isinstance(error, StartError) else ""
            self.failures[generation.cause, provider] += 1
            raise
        self.starts[generation.cause] += 1
        return loaded

    async def drain(
        self, quiesce: Callable[[float], Awaitable[Any]], timeout_s: float
    ) -> None:
        """Wait for the requests of this moment, at most so many seconds."""
        with self.drains.one():
            await quiesce(timeout_s)

    async def stop(self, generation: Generation) -> None:
        """Stop a generation; one that is not started is not counted.

        Raises:
            StopError: Something did not close cleanly; every close was attempted.
        """
        if generation.began_at is None:
            await generation.stop()
            return
        with self.stops.one(), self.watch("stop", generation):
            await generation.stop()
