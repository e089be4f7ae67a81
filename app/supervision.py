"""Watching engines: canaries, deaths, and what is done about them."""

from __future__ import annotations

import asyncio
import logging

from app.canary import Canary
from containers.errors import ServingError
from containers.registry import ModelRegistry, ServedModel

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 0.1
CAUSES = {"death": "has died", "hang": "answers no canary any more"}
ENGINE = {"provider": "engine"}
OVER = ("engine dead", "failed", "stopped")


class Supervisor:
    """Notices engines that die or give no tokens, and has dead ones replaced."""

    def __init__(self) -> None:
        self._canaries: dict[str, Canary] = {}

    def trouble_of(self, model: ServedModel) -> str:
        """What a model's canary has found, or an empty string."""
        canary = self._canaries.get(model.name)
        return canary.trouble if canary else ""

    async def run(self, registry: ModelRegistry) -> None:
        """Watch until the models that are left are not enough to go on."""
        # ``errored``, since an engine that died before its first request still says
        # ``is_running``; vLLM offers nothing to wait for.
        async with asyncio.TaskGroup() as tasks:
            resting = tasks.create_task(registry.residency.run())
            try:
                while not _is_over(registry):
                    self._follow(registry, tasks)
                    await asyncio.sleep(CHECK_EVERY_S)
            finally:
                resting.cancel()
                while self._canaries:
                    self._canaries.popitem()[1].stop()

    def _follow(self, registry: ModelRegistry, tasks: asyncio.TaskGroup) -> None:
        for model in registry:
            self._let_canary_sing(model, tasks)
            canary = self._canaries.get(model.name)
            if model.is_errored:
                self._heal(model, "death", registry, tasks)
            elif model.is_ready and canary is not None and canary.is_given_up:
                self._heal(model, "hang", registry, tasks)

    @staticmethod
    def _heal(
        model: ServedModel,
        cause: str,
        registry: ModelRegistry,
        tasks: asyncio.TaskGroup,
    ) -> None:
        tasks.create_task(_replace_engine(registry, model, cause))
        model.enter("healing")

    def _let_canary_sing(self, model: ServedModel, tasks: asyncio.TaskGroup) -> None:
        """Have a canary for the engine that there is now, if the settings want one."""
        settings = model.settings.canary
        canary = self._canaries.get(model.name)
        loaded = model.loaded if model.is_ready else None
        engine = loaded.engine if loaded else None
        if canary is not None and canary.sings_for(engine, settings):
            return
        if canary is not None:
            self._canaries.pop(model.name).stop()
        if loaded is not None and settings is not None:
            canary = Canary(engine, settings, can=loaded.supported_tasks)
            self._canaries[model.name] = canary
            canary.start(tasks)


async def _replace_engine(
    registry: ModelRegistry, model: ServedModel, cause: str
) -> None:
    logger.error("the engine of %s %s", model.name, CAUSES[cause], extra=ENGINE)
    try:
        await registry.heal(model, cause=cause)
    except ServingError as error:
        logger.error("%s is given up: %s", model.name, error)  # noqa: TRY400  # a sentence
        registry.events.count("give up", model.name, cause)
        model.enter("engine dead")


def _is_over(registry: ModelRegistry) -> bool:
    states = [model.state for model in registry]
    is_enough = any if registry.server.require_all_models else all
    return "engine dead" in states and is_enough(state in OVER for state in states)
