"""Giving a model's memory back, and having the model again."""

from __future__ import annotations

import logging

from containers.errors import StopError
from containers.lifecycle import Running
from containers.registry.kept_adapters import add_adapters_again
from containers.registry.plan import plan_of
from containers.registry.proof import prove
from containers.registry.served_model import ServedModel
from containers.settings import ModelSettings

logger = logging.getLogger(__name__)


async def load(model: ServedModel) -> None:
    """Load a model that is at rest; it serves once its engine has answered.

    Raises:
        GraphError: The graph cannot be started.
        StartError: It did not start, or gave no answer; it is unloaded then.
    """
    if model.state == "asleep":
        if await _wakes_up(model):
            return
        await unload(model)
    generation = model.generation
    model.enter("loading")
    try:
        loaded = await model.tally.start(generation, model.server, proves=True)
        await add_adapters_again(model, loaded)
    except BaseException:
        model.enter("unloaded")
        raise
    model.become(generation, loaded)


async def let_go(model: ServedModel, *, quiet_within_s: float = 0.0) -> None:
    """Give a model's memory back, in the way its settings say.

    Args:
        model: The model, ready.
        quiet_within_s: Seconds its requests in flight may go on; 0 if it has none.
    """
    loaded = model.loaded
    # From here on requests wait, so that none can come while something is awaited.
    model.enter("unloading")
    if quiet_within_s:
        await model.quiesce(quiet_within_s)
    model.cards = (await loaded.models.show_available_models()).data
    if model.settings.idle_action == "unload" or not await _falls_asleep(model, loaded):
        await unload(model)


async def unload(model: ServedModel) -> None:
    """End a model's engine; its tokenizer and chat template are kept for the next."""
    model.enter("unloading")
    await _succeed(model, model.settings, cause="load")
    model.enter("unloaded")


async def change_at_rest(model: ServedModel, settings: ModelSettings) -> None:
    """Let a model that is at rest be loaded with other settings, when it is."""
    await _succeed(model, settings, cause="reload")
    model.enter("unloaded")


async def _succeed(model: ServedModel, settings: ModelSettings, *, cause: str) -> None:
    old = model.generation
    new = old.successor(settings, cause=cause)
    new.borrow(old, plan_of(old.container, new.container, engine_died=True))
    model.generation, model.resting = new, None
    try:
        await model.tally.stop(old)
    except StopError as error:
        logger.error("%r did not stop cleanly: %s", old, error)  # noqa: TRY400  # a sentence


async def _falls_asleep(model: ServedModel, loaded: Running) -> bool:
    try:
        await loaded.engine.sleep(1)
    except Exception as error:  # noqa: BLE001  # whatever it was, it can be unloaded
        logger.warning("%s does not fall asleep: %s", model.name, error)
        return False
    model.resting = loaded
    model.enter("asleep")
    return True


async def _wakes_up(model: ServedModel) -> bool:
    loaded = model.resting
    if loaded is None:
        return False
    model.enter("loading")
    try:
        await loaded.engine.wake_up()
        await prove(loaded, model.settings.canary)
    except Exception as error:  # noqa: BLE001  # whatever it was, a new engine may do
        logger.error("%s does not wake up: %s", model.name, error)  # noqa: TRY400  # a sentence
        return False
    model.resting = None
    model.enter("ready", loaded)
    return True
