"""The whole of ``config.yaml``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, PrivateAttr, ValidationInfo, model_validator

from containers.errors import SettingsError
from containers.settings.budget import over_budget
from containers.settings.frontends import not_with_front_ends
from containers.settings.location import Location, is_free_text
from containers.settings.model import ModelSettings
from containers.settings.origin import Origins
from containers.settings.performance import PerformanceSettings
from containers.settings.problems import Problems, refuse, refuse_keys
from containers.settings.ray import RaySettings
from containers.settings.section import BARE_AS_EMPTY, Section
from containers.settings.server import ServerSettings

FILLED = {"placeholders": "filled in"}
"""Validation context of values whose placeholders are filled in."""


def _distinct(models: list[ModelSettings]) -> list[ModelSettings]:
    if not models:
        raise refuse("holds no model", "Add one.")
    served: dict[str, int] = {}
    problems: Problems = {}
    for index, model in enumerate(models):
        for place, name in _names_of(model):
            if served.setdefault(name, index) != index:
                problems[index, *place] = refuse(
                    "serves {value} twice: two models, or their adapters, have it",
                    "Rename one of them.",
                    value=name,
                )
    if problems:
        raise refuse_keys(problems)
    return models


def _names_of(model: ModelSettings) -> Iterator[tuple[Location, str]]:
    """Each name the model answers to, with the key it was written under."""
    if model.names == (model.name,):
        yield ("name",), model.name
    else:
        yield from ((("names", at), name) for at, name in enumerate(model.names))
    for at, module in enumerate(model.lora.modules):
        yield ("lora", "modules", at, "name"), module.name


class Settings(Section):
    """Everything a server is told: where to listen and which models to serve.

    Attributes:
        server: The HTTP server.
        performance: Ways to be faster.
        ray: Deployments of Ray Serve, where that serves.
        models: The models, the default one first; no name, an adapter's neither, may be
            there twice.
    """

    server: Annotated[ServerSettings, BARE_AS_EMPTY] = ServerSettings()
    performance: Annotated[PerformanceSettings, BARE_AS_EMPTY] = PerformanceSettings()
    ray: Annotated[RaySettings, BARE_AS_EMPTY] = RaySettings()
    models: Annotated[list[ModelSettings], AfterValidator(_distinct)]
    _origins: Origins = PrivateAttr(default_factory=Origins)

    @property
    def origins(self) -> Origins:
        """Where each value came from; knows nothing of settings made in Python."""
        return self._origins

    @classmethod
    def load(
        cls,
        *paths: str | os.PathLike[str],
        environment: Mapping[str, str] | None = None,
        overrides: Sequence[str] = (),
    ) -> Self:
        """Reads config files, the environment and overrides, each over the ones before.

        Maps merge, models merge by name, anything else is replaced. Placeholders such
        as ``${NAME}`` are filled in, in values only. Folders and files in a config file
        are meant relative to its own folder.

        Args:
            *paths: The files: UTF-8, at most 1 MiB each.
            environment: Variables by name, for placeholders and for settings such as
                ``VLLM_DI__SERVER__PORT``; by default the process' own.
            overrides: ``KEY=VALUE`` each, such as ``models.0.engine.seed=1``.

        Raises:
            SettingsError: A file cannot be read, or something in the settings is wrong.
                Every wrong key is in the one error, each with its file and line.
        """
        from containers.settings.loading import load

        known = os.environ if environment is None else environment
        return load(cls, paths, known, overrides)

    def index_of(self, name: str | None) -> int:
        """Place of the model that has this name; of the first without one.

        Raises:
            SettingsError: No model has it.
        """
        if name is None:
            return 0
        for index, model in enumerate(self.models):
            if name in model.names:
                return index
        names = ", ".join(model.name for model in self.models)
        raise SettingsError(
            key="models", reason=f"has none that is named {name}", hint=f"Take {names}."
        )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        problems = {
            **over_budget(self.server.memory_budget_gib, self.models),
            **not_with_front_ends(self.server, self.models),
        }
        if problems:
            raise refuse_keys(problems)
        return self

    @model_validator(mode="before")
    @classmethod
    def _no_placeholders(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context == FILLED:
            return data
        found: Problems = {
            location: refuse(
                "holds {value}, and environment variables are filled in by "
                "Settings.load alone",
                "Write the value itself.",
                value=text,
            )
            for location, text in _placeholders(data, (), set())
        }
        if found:
            raise refuse_keys(found)
        return data


def _placeholders(
    value: Any, location: Location, seen: set[int]
) -> Iterator[tuple[Location, str]]:
    if isinstance(value, str) and "${" in value:
        yield location, value
    if not isinstance(value, dict | list) or id(value) in seen:
        return
    seen.add(id(value))
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        if not is_free_text((*location, key)):
            yield from _placeholders(inner, (*location, key), seen)
