"""Which models are loaded: on demand, within a budget, until nobody uses them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from containers.errors import NotReadyError
from containers.registry.resting import let_go, load
from containers.registry.served_model import ServedModel
from containers.registry.states import HINTS
from containers.settings import ServerSettings

if TYPE_CHECKING:
    from containers.registry.registry import ModelRegistry

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
"""Seconds between two looks at which models are idle, and where there is room."""


class Residency:
    """Loads models when they are asked for, and lets them go.

    A model with a request in flight, or with one that waits for it, never goes.

    Args:
        registry: The models.

    Attributes:
        aside: Entered by a request while it waits for a model, and so uses none.
    """

    def __init__(self, registry: ModelRegistry) -> None:
        self._registry = registry
        self.aside: Callable[[], AbstractContextManager[None]] = nullcontext
        self._loading: dict[ServedModel, asyncio.Task[None]] = {}

    @property
    def server(self) -> ServerSettings:
        """Server settings, as they are now."""
        return self._registry.server

    def able(self, provider: str) -> list[str]:
        """Names of the models that are known to have such a serving object."""
        return [each.name for each in self._registry if each.can(provider)]

    async def load(self, model: ServedModel) -> None:
        """Return when a model is loaded; one that may be asked for is loaded.

        However many ask, it is loaded once, and goes on being loaded when they give up.

        Raises:
            NotReadyError: It cannot be, or not within ``server.load_wait_s``.
        """
        deadline = asyncio.get_running_loop().time() + self.server.load_wait_s
        while not model.is_ready:
            if not model.is_able:
                raise _not_ready(model, model.state, HINTS.get(model.state, ""))
            loading = self._loading.get(model) or self._begin(model)
            left_s = deadline - asyncio.get_running_loop().time()
            with self.aside():
                await asyncio.wait({loading}, timeout=max(left_s, 0))
            if not loading.done():
                raise _not_ready(model, model.state, "It is being loaded; ask again.")
            loading.result()

    async def start(self, model: ServedModel) -> None:
        """Start a model of the settings, or leave it at rest where there is no room.

        Raises:
            GraphError: The graph cannot be started.
            StartError: A resource did not start; nothing is left loaded.
        """
        if model.settings.load == "eager" and not await self.has_room(model):
            logger.warning("%s is loaded when it is asked for: no room", model.name)
            model.rest()
        else:
            await model.start()

    async def run(self) -> None:
        """Let models go that nobody has used for their ``idle_timeout_s``, for ever."""
        while True:
            for model in self._registry.models:
                if _is_overdue(model):
                    await self._rest(model)
            await asyncio.sleep(LOOK_EVERY_S)

    async def unload(self, model: ServedModel) -> None:
        """Let a model go that somebody wants to, also one that is pinned.

        Requests in flight may go on for ``server.drain_timeout_s``. Once begun it is
        done, whoever asked for it.

        Raises:
            NotReadyError: It is not loaded.
        """
        work = model.in_background(self._unload(model), name="unloading")
        await asyncio.shield(work)

    async def has_room(self, model: ServedModel) -> bool:
        """Make room for a model in the budget, as far as others are not in use.

        The registry's turn has to be held.

        Returns:
            Whether there is room now.
        """
        while (lacking_gib := self._lacking_gib(model)) > 0:
            idle = [each for each in self._registry if _may_go(each)]
            if sum(each.memory_gib for each in idle) < lacking_gib:
                return False
            longest = max(idle, key=lambda each: each.uses.idle_s)
            logger.info("%s is let go: %s needs memory", longest.name, model.name)
            await self._let_go(longest, "memory")
        return True

    async def stop(self) -> None:
        """Give up what is being loaded."""
        loading = tuple(self._loading.values())
        for task in loading:
            task.cancel()
        await asyncio.gather(*loading, return_exceptions=True)

    def _begin(self, model: ServedModel) -> asyncio.Task[None]:
        task = asyncio.create_task(self._load(model), name=f"loading {model.name}")
        self._loading[model] = task
        task.add_done_callback(lambda _: self._loading.pop(model, None))
        return task

    async def _load(self, model: ServedModel) -> None:
        try:
            while not await self._is_loaded_in_turn(model):  # noqa: ASYNC110  # others have to be idle, of which nobody tells
                await asyncio.sleep(LOOK_EVERY_S)
        except NotReadyError:
            raise
        except Exception as error:
            logger.error("%s was not loaded: %s", model.name, error)  # noqa: TRY400  # a sentence; the lifecycle has the rest
            hint = "It could not be loaded; the server's log says why."
            raise _not_ready(model, "failed", hint) from error

    async def _is_loaded_in_turn(self, model: ServedModel) -> bool:
        async with self._registry.turn:
            if model.is_ready:
                return True
            if model not in self._registry.models or not model.is_able:
                raise _not_ready(model, model.state, "Ask again.")
            if await self.has_room(model):
                await load(model)
                self._registry.events.count("load", model.name, "request")
                return True
            if not model.uses.n:
                raise _not_ready(model, "no room", "Ask again when others are idle.")
            return False

    async def _rest(self, model: ServedModel) -> None:
        async with self._registry.turn:
            if model in self._registry.models and _is_overdue(model):
                logger.info("%s is let go: nobody uses it", model.name)
                await self._let_go(model, "idle")

    async def _unload(self, model: ServedModel) -> None:
        async with self._registry.turn:
            if not model.is_ready or model not in self._registry.models:
                raise _not_ready(model, model.state, "Ask again once it is loaded.")
            logger.info("%s is let go: it was asked for", model.name)
            await let_go(model, quiet_within_s=self.server.drain_timeout_s)
            self._registry.events.count("unload", model.name, "request")

    async def _let_go(self, model: ServedModel, cause: str) -> None:
        await let_go(model)
        self._registry.events.count("unload", model.name, cause)

    def _lacking_gib(self, model: ServedModel) -> float:
        budget_gib = self.server.memory_budget_gib
        if budget_gib is None:
            return 0.0
        others = (each for each in self._registry if each is not model)
        taken_gib = sum(each.memory_gib for each in others)
        return taken_gib + (model.settings.memory_gib or 0.0) - budget_gib


def _is_overdue(model: ServedModel) -> bool:
    timeout_s = model.settings.idle_timeout_s
    return timeout_s is not None and _may_go(model) and model.uses.idle_s >= timeout_s


def _may_go(model: ServedModel) -> bool:
    """Whether nobody needs it; what an administrator put to sleep stays so."""
    is_well = model.is_ready and not model.is_errored and not model.generation.is_asleep
    return is_well and not model.uses.n and not model.settings.pinned


def _not_ready(model: ServedModel, state: str, hint: str) -> NotReadyError:
    return NotReadyError(provider=f"the model {model.name!r}", state=state, hint=hint)
