"""One generation of a model: a container that has replaced another, or the first."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, cast

from dependency_injector import providers
from dependency_injector.containers import Container

from containers.errors import StopError
from containers.lifecycle import Running, lifecycle_of, running
from containers.registry.plan import Plan
from containers.registry.proof import prove
from containers.settings import ModelSettings, ServerSettings


class Generation:
    """A model's container from its start to its stop.

    Args:
        container: The container, not started.
        number: 1 for the first.
        cause: Why there is this generation, such as ``start`` or ``reload``.

    Attributes:
        container: The same.
        number: The same.
        cause: The same.
        began_at: Seconds since the epoch when its start began; ``None`` before.
        seconds: Seconds its start took; ``None`` until it is loaded.
        is_asleep: Whether an administrator has put its engine to sleep.
    """

    def __init__(self, container: Container, *, number: int, cause: str) -> None:
        self.container = container
        self.number = number
        self.cause = cause
        self.began_at: float | None = None
        self.seconds: float | None = None
        self.is_asleep = False
        self._stack = AsyncExitStack()

    def __repr__(self) -> str:
        return f"Generation({self.number}, {self.cause!r})"

    def successor(self, settings: ModelSettings, *, cause: str) -> Generation:
        """The generation after this one, of other settings; nothing is started.

        What is overridden here is overridden there.
        """
        made = type_of(self.container)(settings=settings)
        for name, provider in self.container.providers.items():
            if name != "settings":
                for override in provider.overridden:
                    made.providers[name].override(override)
                    # Else it would keep every generation that it is an override in.
                    override.unregister_overrides(made.providers[name])
        return Generation(made, number=self.number + 1, cause=cause)

    def borrow(self, lender: Generation, plan: Plan) -> None:
        """Have what the plan leaves as it is from the generation before."""
        lifecycle_of(self.container).borrow(
            lifecycle_of(lender.container), plan.borrowed
        )

    async def start(self, server: ServerSettings, *, proves: bool = False) -> Running:
        """Load what is not loaded; it may be tried again after a failure.

        Args:
            server: Settings that bound how long it may take.
            proves: Whether its engine has to answer before it counts as started.

        Raises:
            GraphError: The graph cannot be started.
            StartError: A resource did not start, and what was borrowed stays loaded; or
                the engine did not answer, and nothing does.
        """
        self.began_at = time.time()
        block = running(
            self.container,
            timeout_s=server.start_timeout_s,
            resource_timeout_s=server.resource_start_timeout_s,
            stop_timeout_s=server.stop_timeout_s,
        )
        loaded = await self._stack.enter_async_context(block)
        if proves:
            try:
                await prove(loaded, self.container.settings().canary)
            except BaseException as error:
                await self._end(error)
                raise
        self.seconds = time.time() - self.began_at
        return loaded

    async def stop(self) -> None:
        """Close what only this generation has; a second call does nothing.

        Raises:
            StopError: Something did not close cleanly; every close was attempted.
        """
        if self.seconds is None:
            await lifecycle_of(self.container).stop()
        await self._stack.aclose()

    async def _end(self, error: BaseException) -> None:
        try:
            await self._stack.aclose()
        except StopError as trouble:
            error.add_note(f"while stopping: {trouble}")


def type_of(container: Container) -> Callable[..., Container]:
    """The declared class of a container, which its instances do not show."""
    declared: Any = container.declarative_parent
    if isinstance(declared, providers.Provider):
        declared = declared()
    return cast("Callable[..., Container]", declared)
