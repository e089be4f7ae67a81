"""The change of all models of an app to new settings, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from containers.registry.generation import type_of
from containers.registry.plan import Plan
from containers.registry.renewal import Renewal
from containers.registry.served_model import ServedModel
from containers.settings import ModelSettings, Settings

if TYPE_CHECKING:
    from containers.registry.registry import ModelRegistry


class Change:
    """What has to be done to serve new settings, and the doing of it.

    Args:
        registry: The models as they are.
        settings: The new settings.

    Attributes:
        plans: What becomes of each model that stays, in the new order.
        added: Names of models that are new.
        removed: Names of models that go.
    """

    def __init__(self, registry: ModelRegistry, settings: Settings) -> None:
        self._registry = registry
        self._settings = settings
        self._current = {model.name: model for model in registry.models}
        names = [each.name for each in settings.models]
        self._renewals = {
            each.name: Renewal(self._current[each.name], each, cause="reload")
            for each in settings.models
            if each.name in self._current and self._current[each.name].is_ready
        }
        self.plans: list[Plan] = [each.plan for each in self._renewals.values()]
        self.added = [name for name in names if name not in self._renewals]
        self.removed = [name for name in self._current if name not in names]

    async def make(self) -> None:
        """Do it.

        Raises:
            StartError: Something did not start; all is as it was before.
        """
        wanted = [each for each in self._renewals.values() if each.plan.rebuilt]
        # First what leaves the running models alone, since most failures show there.
        wanted.sort(key=lambda renewal: renewal.stops_first)
        prepared: list[Renewal] = []
        started: dict[str, ServedModel] = {}
        try:
            for name in self.added:
                started[name] = await self._started(name)
            for renewal in wanted:
                await renewal.prepare()
                prepared.append(renewal)
        except BaseException:
            for renewal in reversed(prepared):
                await renewal.abandon()
            for model in started.values():
                await model.stop()
            raise
        for renewal in prepared:
            renewal.commit()
        self._swap(started)

    async def _started(self, name: str) -> ServedModel:
        settings = self._new_settings(name)
        first = self._registry.models[0]
        model = ServedModel(type_of(first.container)(settings=settings), first.server)
        model.on_change, model.quiesce = first.on_change, first.quiesce
        await model.start()
        return model

    def _new_settings(self, name: str) -> ModelSettings:
        return next(each for each in self._settings.models if each.name == name)

    def _swap(self, started: dict[str, ServedModel]) -> None:
        left = {**self._current, **started}
        for name in self.removed:
            model = self._current[name]
            model.retire(model.generation)
            model.enter("stopped")
        self._registry.models = tuple(left[each.name] for each in self._settings.models)
        self._registry.server = self._settings.server
        for model in self._registry.models:
            model.server = self._settings.server
