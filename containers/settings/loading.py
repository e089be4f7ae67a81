"""From files, environment and command line to settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from containers.errors import SettingsError
from containers.settings.filling import Filler
from containers.settings.kinds import kind_of_section
from containers.settings.location import Location, dotted
from containers.settings.origin import Origin, Origins
from containers.settings.overrides import with_override
from containers.settings.places import is_it, is_path, placed_model, placed_server
from containers.settings.problems import first_of, settings_error
from containers.settings.root import FILLED
from containers.settings.tree import Tree, covered, plain, tree_of, walked
from containers.settings.variables import with_variables
from containers.settings.yaml_file import read

if TYPE_CHECKING:
    from containers.settings.root import Settings

S = TypeVar("S", bound="Settings")

VLLM_KEY = "VLLM_API_KEY"
KEYS = ("server", "api_keys")


def load(
    settings: type[S],
    paths: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str],
    overrides: Sequence[str],
) -> S:
    """Make settings of their sources; see :meth:`containers.settings.Settings.load`."""
    tree = _layers(settings, paths, environment, overrides)
    places = dict(walked(tree))
    origins = Origins({location: place.origin for location, place in places.items()})
    if KEYS in places and places[KEYS].value is None:
        raise _error(KEYS, origins, "is empty", "Write a key, or leave api_keys out.")
    try:
        made: S = settings.__pydantic_validator__.validate_python(
            plain(tree), context=FILLED
        )
    except ValidationError as error:
        raise settings_error(error, settings, origins) from None
    _refuse_forgotten_key(made, environment)
    return _placed(made, origins)


def _layers(
    settings: type[Settings],
    paths: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str],
    overrides: Sequence[str],
) -> Tree:
    kind, filler = kind_of_section(settings), Filler(environment)
    tree = Tree({}, Origin("the settings"))
    for order, path in enumerate(paths):
        written = tree_of(read(Path(path)), order=order)
        layer = filler.fill(written, kind)
        tree = covered(tree, layer) if order else layer
    tree = with_variables(tree, environment, kind, order=len(paths))
    for order, text in enumerate(overrides, start=len(paths) + 1):
        tree = with_override(tree, text, filler, kind, order=order)
    problems = [each.problem for _, each in walked(tree) if each.problem is not None]
    if problems:
        raise first_of(problems)
    return tree


def _refuse_forgotten_key(settings: Settings, environment: Mapping[str, str]) -> None:
    """vLLM would ask for this key; without ``api_keys`` we would let everybody in."""
    if environment.get(VLLM_KEY) and not settings.server.wants_key:
        raise SettingsError(
            key=dotted(KEYS),
            reason=f"is not set, but the environment variable {VLLM_KEY} is",
            hint=f'Write api_keys: ["${{{VLLM_KEY}}}"], or unset {VLLM_KEY}.',
        )


def _placed(settings: S, origins: Origins) -> S:
    def folder_of(location: Location) -> Path:
        origin = origins.nearest(location)
        return origin.folder if origin else Path.cwd()

    models = [
        placed_model(model, ("models", index), folder_of)
        for index, model in enumerate(settings.models)
    ]
    for index, model in enumerate(models):
        for n, module in enumerate(model.lora.modules):
            if is_path(module.path) and not is_it(Path(module.path), Path.is_dir):
                location = ("models", index, "lora", "modules", n, "path")
                raise _error(location, origins, "is no folder", "Check the path.")
    server = placed_server(settings.server, folder_of)
    placed = settings.model_copy(update={"server": server, "models": models})
    placed._origins = origins  # noqa: SLF001  # made here, before anyone sees it
    return placed


def _error(
    location: Location, origins: Origins, reason: str, hint: str
) -> SettingsError:
    origin = origins.nearest(location)
    return SettingsError(
        key=dotted(location),
        reason=reason,
        hint=hint,
        file=origin.source if origin else None,
        line=origin.line if origin else None,
    )
