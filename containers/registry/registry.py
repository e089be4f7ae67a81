"""Which model answers to which name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
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
from containers.registry.change import Change
from containers.registry.renewal import heal
from containers.registry.served_model import ServedModel
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
    """

    def __init__(
        self, models: Mapping[str, Container], *, server: ServerSettings
    ) -> None:
        self.models = tuple(ServedModel(each, server) for each in models.values())
        self.server = server
        self.adapters = Adapters()
        self._turn = asyncio.Lock()

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
        found = getattr(self.get(name) if name else self.able(provider), provider)
        if found is None:
            able = [m.name for m in self.models if _can(m, provider)]
            raise UnsupportedTaskError(
                model=name or self._first_ready().name, provider=provider, able=able
            )
        return found

    def able(self, provider: str) -> Running:
        """Loaded objects of the first model that has such a serving object.

        The default model's, if none has.

        Raises:
            NotReadyError: None is ready.
        """
        able = (model for model in self.models if _can(model, provider))
        return next(able, self._first_ready()).loaded

    def require_some(self) -> None:
        """Return when a model is ready.

        Raises:
            NotReadyError: None is.
        """
        self._first_ready()

    async def show_available_models(self) -> Any:
        """vLLM's ``ModelList`` of all models that are ready, and of their adapters."""
        first, *others = [m.loaded.models for m in self.models if m.is_ready]
        shown = await first.show_available_models()
        for models in others:
            shown.data.extend((await models.show_available_models()).data)
        return shown

    async def start(self) -> None:
        """Start the models one after the other, since each measures free memory.

        One that fails leaves the others serving, unless the settings require all.

        Raises:
            StartError: None has started, or one has not and all are required; none is
                left running then.
        """
        try:
            for model in self.models:
                await self._start(model)
        except BaseException:
            await self.stop()
            raise
        if not any(model.is_ready for model in self.models):
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
        async with self._turn:
            change = Change(self, settings)
            if not dry_run:
                await change.make()
            return change

    async def heal(self, model: ServedModel) -> None:
        """Replace the dead engine of a model; reloads wait meanwhile.

        Raises:
            StartError: No new engine started, as often as the settings allow to try.
            NotReadyError: The settings do not allow to try.
        """
        died = model.generation
        async with self._turn:
            if model.generation is died:
                await heal(model)

    async def stop(self) -> None:
        """Stop the models in reverse order; every stop is attempted.

        Raises:
            StopError: Something did not close cleanly.
        """
        errors: list[Exception] = []
        for model in reversed(self.models):
            try:
                await model.stop()
            except StopError as error:
                errors += error.exceptions
        if errors:
            raise StopError(errors)

    async def _start(self, model: ServedModel) -> None:
        try:
            await model.start()
        except Exception as error:
            if self.server.require_all_models or len(self.models) == 1:
                raise
            logger.error("%s did not start: %s", model.name, error)  # noqa: TRY400  # a sentence; the lifecycle has the rest

    def _first_ready(self) -> ServedModel:
        for model in self.models:
            if model.is_ready:
                return model
        first = self.models[0]
        raise NotReadyError(
            provider="the model", state=first.state, hint="Wait until one is loaded."
        )

    def _of_unknown_names(self) -> ServedModel | None:
        """Who sees names that nobody serves: vLLM refuses them, or resolves them."""
        if len(self.models) == 1:
            return self.models[0]
        return next((model for model in self.models if _resolves(model)), None)

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self.models)


def _can(model: ServedModel, provider: str) -> bool:
    return model.is_ready and getattr(model.loaded, provider, None) is not None


def _resolves(model: ServedModel) -> bool:
    """Whether a plugin of vLLM's finds adapters by name for this model."""
    models = getattr(model.loaded, "models", None) if model.is_ready else None
    return bool(getattr(models, "lora_resolvers", None))
