"""Watching engines: canaries, deaths, and what is done about them."""

from __future__ import annotations

import asyncio
import logging

from app.canary import Canary
from containers.errors import ServingError
from containers.registry import ModelRegistry, ServedModel

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 0.1
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
            try:
                while not _is_over(registry):
                    self._follow(registry, tasks)
                    await asyncio.sleep(CHECK_EVERY_S)
            finally:
                while self._canaries:
                    self._canaries.popitem()[1].stop()

    def _follow(self, registry: ModelRegistry, tasks: asyncio.TaskGroup) -> None:
        for model in registry:
            self._let_canary_sing(model, tasks)
            if model.is_errored:
                tasks.create_task(_replace_engine(registry, model))
                model.enter("healing")

    def _let_canary_sing(self, model: ServedModel, tasks: asyncio.TaskGroup) -> None:
        """Have a canary for the engine that there is now, if the settings want one."""
        settings = model.settings.canary
        canary = self._canaries.get(model.name)
        engine = model.loaded.engine if model.is_ready else None
        if canary is not None and canary.sings_for(engine, settings):
            return
        if canary is not None:
            self._canaries.pop(model.name).stop()
        if engine is not None and settings is not None:
            canary = self._canaries[model.name] = Canary(engine, settings)
            canary.start(tasks)


async def _replace_engine(registry: ModelRegistry, model: ServedModel) -> None:
    logger.error("the engine of %s has died", model.name)
    try:
        await registry.heal(model)
    except ServingError as error:
        logger.error("%s is given up: %s", model.name, error)  # noqa: TRY400  # a sentence
        model.enter("engine dead")


def _is_over(registry: ModelRegistry) -> bool:
    states = [model.state for model in registry]
    is_enough = any if registry.server.require_all_models else all
    return "engine dead" in states and is_enough(state in OVER for state in states)
