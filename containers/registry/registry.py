"""Which model answers to which name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dependency_injector.containers import Container

from containers.errors import (
    NotReadyError,
    StopError,
    UnknownModelError,
    UnsupportedTaskError,
)
from containers.lifecycle import Running
from containers.registry.adapters import Adapters
from containers.registry.awaited import Awaited
from containers.registry.cards import import_front_end, model_list
from containers.registry.change import Change
from containers.registry.events import Events
from containers.registry.renewal import heal
from containers.registry.residency import Residency
from containers.registry.served_model import ServedModel
from containers.registry.states import ON_DEMAND
from containers.request_record import note_model
from containers.settings import ServerSettings, Settings

logger = logging.getLogger(__name__)


class ModelRegistry:
    """The models an app serves, by the names clients ask for; making it starts nothing.

    Args:
        models: Containers by primary name, the default model first; at least one.
        server: Server settings.

    Attributes:
        models: The models, in that order.
        server: Server settings.
        adapters: Loads and unloads LoRA adapters while the models serve.
        residency: Loads models when they are asked for, and lets them go.
        events: How often what has happened to them.
        leaving: Models that were removed, and may still be stopping.
        turn: Held by whatever starts or stops a generation while the models serve.
    """

    def __init__(
        self, models: Mapping[str, Container], *, server: ServerSettings
    ) -> None:
        self.models = tuple(ServedModel(each, server) for each in models.values())
        self.server = server
        self.adapters = Adapters()
        self.residency = Residency(self)
        self.turn = asyncio.Lock()
        self.events = Events()
        self.leaving: list[ServedModel] = []

    @property
    def names(self) -> tuple[str, ...]:
        """Every served name, primary names and aliases."""
        return tuple(name for model in self.models for name in model.settings.names)

    @property
    def default(self) -> Running:
        """Loaded objects of the model of requests that name none: the first one ready.

        Raises:
            NotReadyError: None is ready.
        """
        return self._first_ready().loaded

    def get(self, name: str | None) -> Running:
        """Loaded objects of the model with a served name, or with such an adapter.

        Args:
            name: A name or alias of a model, or the name of an adapter; ``None`` or
                an empty one for the default model.

        Raises:
            NotReadyError: That model is not ready.
            UnknownModelError: Nobody serves that name.
        """
        return self.model(name).loaded if name else self.default

    @asynccontextmanager
    async def use(
        self, name: str | None = None, *, provider: str = "models"
    ) -> AsyncIterator[Running]:
        """Loaded objects of a model, which is loaded first if need be, and then stays.

        Args:
            name: As for :meth:`get`.
            provider: Name of one that the model has to have.

        Raises:
            NotReadyError: That model cannot be had.
            UnknownModelError: Nobody serves that name.
            UnsupportedTaskError: The model has no such object.
        """
        model = self._able(provider, name)
        note_model(model.name)
        with model.uses.one():
            await self.residency.load(model)
            yield self._able(provider, name).loaded

    def at_hand(self) -> Running:
        """Loaded objects of the default model, which nothing makes go.

        Raises:
            NotReadyError: It is not ready, or may go and has to be used by :meth:`use`.
        """
        model = self.models[0] if self.models[0].is_ready else self._able("models")
        if not model.stays:
            hint = "Ask for it with use(), so that it stays meanwhile."
            raise NotReadyError(provider=model.name, state="may go", hint=hint)
        note_model(model.name)
        return model.loaded

    def model(self, name: str) -> ServedModel:
        """The model with a served name, or with such an adapter.

        Raises:
            UnknownModelError: Nobody serves that name.
        """
        for model in self.models:
            if name in model.settings.names:
                return model
        for model in self.models:
            if name in model.adapters:
                return model
        found = self._of_unknown_names()
        if found is None:
            raise UnknownModelError(model=name, names=self.names)
        return found

    def serving(self, provider: str, name: str | None) -> Any:
        """The serving object that answers a request.

        Args:
            provider: Name of the provider, such as ``serving_embedding``.
            name: What the request names as its model. One that names none is for the
                first model that can answer it.

        Raises:
            NotReadyError: The model is not ready.
            UnknownModelError: Nobody serves that name.
            UnsupportedTaskError: The model cannot answer such requests.
        """
        model = self._able(provider, name)
        note_model(model.name)
        if model.is_ready and model.stays:
            return getattr(model.loaded, provider)
        return Awaited(self.residency, model, provider)

    def can(self, provider: str, name: str | None) -> bool:
        """Whether :meth:`serving` would give an object; it may prove otherwise later.

        Raises:
            NotReadyError: The model is not ready.
            UnknownModelError: Nobody serves that name.
        """
        try:
            self._able(provider, name)
        except UnsupportedTaskError:
            return False
        return True

    def require_some(self) -> None:
        """Return when a model answers requests, be it after it has been loaded.

        Raises:
            NotReadyError: None does.
        """
        self._first_able()

    async def show_available_models(self) -> Any:
        """vLLM's ``ModelList`` of all models that answer, and of their adapters."""
        return await model_list(model for model in self.models if model.is_able)

    async def start(self) -> None:
        """Start the models one after the other, since each measures free memory.

        One that fails leaves the others serving, unless the settings require all. Those
        that are to be loaded at their first request come last, and are not started.

        Raises:
            StartError: None has started, or one has not and all are required; none is
                left running then.
        """
        self.turn = asyncio.Lock()  # of this event loop
        try:
            for model in sorted(self.models, key=lambda each: each.is_lazy):
                if model.is_lazy and not any(each.is_ready for each in self.models):
                    await asyncio.to_thread(import_front_end)
                await self._start(model)
        except BaseException:
            await self.stop()
            raise
        if not any(model.is_able for model in self.models):
            raise next(model.error for model in self.models if model.error)

    async def reload(self, settings: Settings, *, dry_run: bool = False) -> Change:
        """Change to new settings, all or nothing.

        What is downstream of a change is built anew, all else goes on; requests in
        flight end on what they began with.

        Args:
            settings: The new settings.
            dry_run: Whether only to tell what would happen.

        Returns:
            What happened, or would.

        Raises:
            SettingsError: The settings cannot be changed to without a restart.
            StartError: Something did not start; all is as it was before.
        """
        async with self.turn:
            self.leaving = [model for model in self.leaving if model.is_retiring]
            change = Change(self, settings)
            if not dry_run:
                await change.make()
            return change

    async def heal(self, model: ServedModel, *, cause: str = "death") -> None:
        """Replace the dead engine of a model; reloads wait meanwhile.

        Args:
            model: The model.
            cause: What happened to its engine: ``death``, or ``hang``.

        Raises:
            StartError: No new engine started, as often as the settings allow to try.
            NotReadyError: The settings do not allow to try.
        """
        died = model.generation
        async with self.turn:
            if model.generation is died and model in self.models:
                await heal(model)
                self.events.count("heal", model.name, cause)

    async def stop(self) -> None:
        """Stop the models in reverse order; every stop is attempted.

        Raises:
            StopError: Something did not close cleanly.
        """
        errors: list[Exception] = []
        await self.residency.stop()
        for model in self.leaving:
            await model.end_retiring()
        for model in reversed(self.models):
            try:
                await model.stop()
            except StopError as error:
                errors += error.exceptions
        if errors:
            raise StopError(errors)

    async def _start(self, model: ServedModel) -> None:
        try:
            await self.residency.start(model)
        except Exception as error:
            if self.server.require_all_models or len(self.models) == 1:
                raise
            logger.error("%s did not start: %s", model.name, error)  # noqa: TRY400  # a sentence; the lifecycle has the rest

    def _able(self, provider: str, name: str | None = None) -> ServedModel:
        """The model of a request, unless it is known to be unable."""
        model = self.model(name) if name else self._of_those_who_can(provider)
        if not model.is_able:
            _ = model.loaded  # which says why not
        if model.can(provider) is False:
            able = self.residency.able(provider)
            raise UnsupportedTaskError(
                model=name or model.name, provider=provider, able=able
            )
        return model

    def _of_those_who_can(self, provider: str) -> ServedModel:
        """The first model that can answer, else one that may, else the default one."""
        for answer in (True, None):
            for model in self.models:
                if model.can(provider) is answer:
                    return model
        return self._first_able()

    def _first_ready(self) -> ServedModel:
        ready = [model for model in self.models if model.is_ready]
        return ready[0] if ready else self._first_able()

    def _first_able(self) -> ServedModel:
        for model in self.models:
            if model.is_able:
                return model
        first = self.models[0]
        raise NotReadyError(
            provider="the model", state=first.state, hint="Wait until one is loaded."
        )

    def _of_unknown_names(self) -> ServedModel | None:
        """Who sees names that nobody serves: vLLM refuses them, or resolves them."""
        if len(self.models) == 1 and self.models[0].state not in ON_DEMAND:
            return self.models[0]
        return next((model for model in self.models if _resolves(model)), None)

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self.models)


def _resolves(model: ServedModel) -> bool:
    """Whether a plugin of vLLM's finds adapters by name for this model."""
    models = getattr(model.loaded, "models", None) if model.is_ready else None
    return bool(getattr(models, "lora_resolvers", None))
