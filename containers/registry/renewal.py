"""A model's next generation: prepared beside the current one, then put in its place."""

from __future__ import annotations

import asyncio
import logging

from containers.errors import NotReadyError, StopError
from containers.lifecycle import Running
from containers.registry.generation import Generation
from containers.registry.kept_adapters import add_adapters_again, keep_adapters
from containers.registry.plan import Plan, plan_of
from containers.registry.served_model import ServedModel
from containers.settings import ModelSettings

logger = logging.getLogger(__name__)


class Renewal:
    """The change of one model to new settings.

    Args:
        model: The model, ready.
        settings: Its new settings.
        cause: Why, such as ``reload``.

    Attributes:
        plan: What is built anew.
    """

    def __init__(
        self, model: ServedModel, settings: ModelSettings, *, cause: str
    ) -> None:
        self._model = model
        self._old = model.generation
        self._old_settings = model.settings
        self._new_settings = settings
        self._new = model.generation.successor(settings, cause=cause)
        self._loaded: Running | None = None
        self.plan: Plan = plan_of(self._old.container, self._new.container)

    @property
    def is_wanted(self) -> bool:
        """Whether anything differs, be it only what no object is built from."""
        return bool(self.plan.rebuilt) or self._new_settings != self._old_settings

    @property
    def stops_first(self) -> bool:
        """Whether the old engine has to be gone before the new one starts."""
        return self.plan.restarts_engine and (
            self._model.server.engine_reload == "stop_first"
        )

    async def prepare(self) -> None:
        """Start the new generation; unless the old has to go first, that serves on.

        Raises:
            StartError: It did not start; the model is as it was, or starting so again
                where its engine had to be stopped.
        """
        if self.stops_first:
            await self._stop_old()
        else:
            self._new.borrow(self._old, self.plan)
        try:
            self._loaded = await self._model.tally.start(
                self._new, self._model.server, proves=self.plan.restarts_engine
            )
            if self.plan.restarts_engine:
                await add_adapters_again(self._model, self._loaded)
        except asyncio.CancelledError:
            await self._new.stop()
            raise
        except Exception:
            await self.abandon()
            raise

    def commit(self) -> None:
        """Answer requests with the new generation; the old one ends with its own."""
        if self._loaded is None:
            return
        if not self.plan.restarts_engine:
            keep_adapters(self._model, self._loaded)
        self._model.become(self._new, self._loaded)
        if not self.stops_first:
            self._model.retire(self._old)

    async def abandon(self) -> None:
        """Make it as it was before :meth:`prepare`."""
        if not self.stops_first:
            await self._new.stop()
            return
        again = self._new.successor(self._old_settings, cause="reload taken back")
        plan = plan_of(self._new.container, again.container, engine_died=True)
        again.borrow(self._new, plan)
        await self._new.stop()
        loaded = await self._model.tally.start(again, self._model.server)
        await add_adapters_again(self._model, loaded)
        self._model.become(again, loaded)

    async def _stop_old(self) -> None:
        self._model.enter("restarting")
        model = self._model
        await model.tally.drain(model.quiesce, model.server.drain_timeout_s)
        self._new.borrow(self._old, self.plan)
        await model.tally.stop(self._old)


async def heal(model: ServedModel) -> None:
    """Replace the dead engine of a model, and keep its tokenizer and chat template.

    Raises:
        StartError: No new engine started, as often as the settings allow to try.
        NotReadyError: The settings do not allow to try.
    """
    if not model.server.heal_attempts:
        raise NotReadyError(
            provider=f"the engine of {model.name!r}",
            state="dead",
            hint="Set server.heal_attempts to have it replaced.",
        )
    old = model.generation
    model.enter("healing")
    new = old.successor(model.settings, cause="heal")
    new.borrow(old, plan_of(old.container, new.container, engine_died=True))
    try:
        await model.tally.stop(old)
    except StopError as error:
        logger.warning(
            "the dead engine of %s did not end cleanly: %s", model.name, error
        )
    try:
        loaded = await _started(new, model)
        await add_adapters_again(model, loaded)
    except BaseException:
        await new.stop()
        raise
    model.become(new, loaded)


async def _started(new: Generation, model: ServedModel) -> Running:
    """Start a generation, as often as the settings allow to try."""
    server = model.server
    for attempt in range(1, server.heal_attempts):
        try:
            return await model.tally.start(new, server, proves=True)
        except Exception as error:  # noqa: BLE001  # whatever it was, the next try may do
            text = "try %d of %d to replace the engine of %s failed: %s"
            logger.error(text, attempt, server.heal_attempts, model.name, error)  # noqa: TRY400  # a sentence
            await asyncio.sleep(server.heal_backoff_s * 2 ** (attempt - 1))
    return await model.tally.start(new, server, proves=True)
