"""The change of all models of an app to new settings, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from containers.registry.generation import type_of
from containers.registry.plan import Plan
from containers.registry.renewal import Renewal
from containers.registry.resting import change_at_rest
from containers.registry.served_model import ServedModel
from containers.registry.states import AT_REST
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
        self._at_rest = {
            each.name: each
            for each in settings.models
            if each.name in self._current and self._current[each.name].state in AT_REST
        }
        self._staid = {
            model.name for model in registry.models if model.is_ready and model.stays
        }
        self.plans: list[Plan] = [each.plan for each in self._renewals.values()]
        known = {*self._renewals, *self._at_rest}
        self.added = [name for name in names if name not in known]
        self.removed = [name for name in self._current if name not in names]

    async def make(self) -> None:
        """Do it.

        Raises:
            StartError: Something did not start; all is as it was before.
        """
        wanted = [each for each in self._renewals.values() if each.is_wanted]
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
        await self._change_those_at_rest()
        self._swap(started)

    async def _change_those_at_rest(self) -> None:
        for name, settings in self._at_rest.items():
            if settings != self._current[name].settings:
                await change_at_rest(self._current[name], settings)

    async def _started(self, name: str) -> ServedModel:
        settings = self._new_settings(name)
        first = self._registry.models[0]
        model = ServedModel(type_of(first.container)(settings=settings), first.server)
        model.on_change, model.quiesce = first.on_change, first.quiesce
        model.tally.watch = first.tally.watch
        await self._registry.residency.start(model)
        return model

    def _new_settings(self, name: str) -> ModelSettings:
        return next(each for each in self._settings.models if each.name == name)

    def _swap(self, started: dict[str, ServedModel]) -> None:
        left = {**self._current, **started}
        # One that was not ready, as when it heals, is started anew beside itself.
        replaced = [name for name in started if name in self._current]
        for name in [*self.removed, *replaced]:
            model = self._current[name]
            model.resting = None
            model.retire(model.generation)
            model.enter("stopped")
            self._registry.leaving.append(model)
        self._registry.models = tuple(left[each.name] for each in self._settings.models)
        self._registry.server = self._settings.server
        for model in self._registry.models:
            model.server = self._settings.server
            if model.name in self._staid and not model.stays:
                model.in_background(model.hold_until_quiet(), name="counting")
