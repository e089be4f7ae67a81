"""The whole of ``config.yaml``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ValidationError, model_validator

from containers.settings.keys import Location
from containers.settings.model import ModelSettings
from containers.settings.places import placed
from containers.settings.problems import (
    Problems,
    refuse,
    refuse_keys,
    settings_error,
)
from containers.settings.section import BARE_AS_EMPTY, Section
from containers.settings.server import ServerSettings
from containers.settings.yaml_file import read

_FREE_TEXT = ("template", "default_chat_template_kwargs")


def _exactly_one(models: list[ModelSettings]) -> list[ModelSettings]:
    if len(models) != 1:
        raise refuse(
            f"holds {len(models)} models, and this release serves exactly one",
            "Keep one of them." if models else "Add one.",
        )
    return models


class Settings(Section):
    """Everything a server is told: where to listen and which model to serve.

    Attributes:
        server: The HTTP server.
        models: The models; exactly one in this release.
    """

    server: Annotated[ServerSettings, BARE_AS_EMPTY] = ServerSettings()
    models: Annotated[list[ModelSettings], AfterValidator(_exactly_one)]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads ``config.yaml``.

        Folders and template files in it are meant relative to the file's own folder.

        Args:
            path: The file: UTF-8, at most 1 MiB.

        Raises:
            SettingsError: The file cannot be read, or something in it is wrong. Every
                wrong key is in the one error, each with its line.
        """
        document = read(Path(path))
        try:
            settings: Self = cls.__pydantic_validator__.validate_python(document.data)
        except ValidationError as error:
            raise settings_error(error, cls, document) from None
        folder = Path(path).absolute().parent
        models = [placed(model, folder) for model in settings.models]
        return settings.model_copy(update={"models": models})

    @model_validator(mode="before")
    @classmethod
    def _no_placeholders(cls, data: Any) -> Any:
        found: Problems = {
            location: refuse(
                f"holds {text!r}, and environment variables are not filled in",
                "Write the value itself.",
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
        if not (location[-1:] == ("chat",) and key in _FREE_TEXT):
            yield from _placeholders(inner, (*location, key), seen)
