"""``--set models.0.engine.max_model_len=4096``: settings from the command line."""

from __future__ import annotations

from collections.abc import Iterator

from containers.errors import SettingsError
from containers.settings.filling import Filler
from containers.settings.location import dotted, kind_at
from containers.settings.origin import Origin
from containers.settings.tree import Tree, planted, rooted
from containers.settings.yaml_file import parse_value
from containers.vllm_api.kinds import Kind

SOURCE = "--set"
_HINT = "Write --set KEY=VALUE, such as --set server.port=8080."


def with_override(
    tree: Tree, text: str, filler: Filler, kind: Kind, *, order: int
) -> Tree:
    """The tree with one ``KEY=VALUE`` put in.

    Args:
        tree: Settings so far.
        text: A key path with dots, and a value as YAML; placeholders are filled in.
        filler: Fills them in.
        kind: What the settings as a whole take.
        order: Place of this layer among the sources.

    Raises:
        SettingsError: It is no ``KEY=VALUE``, its value is no YAML, or its key leads
            nowhere.
    """
    path, equals, value = text.partition("=")
    location = tuple(_parts(path.strip()))
    if not equals or "" in location:
        raise SettingsError(file=SOURCE, reason="lacks a key or a value", hint=_HINT)
    written = rooted(
        parse_value(value, source=f"{SOURCE} {dotted(location)}"),
        Origin(SOURCE, order=order),
    )
    put = filler.fill(written, kind_at(kind, location), location)
    try:
        return planted(tree, location, put)
    except LookupError:
        raise SettingsError(
            file=SOURCE,
            key=dotted(location),
            reason="leads nowhere",
            hint="Models are numbered from 0, in the order of the files.",
        ) from None


def _parts(path: str) -> Iterator[int | str]:
    for part in path.split("."):
        yield int(part) if part.isascii() and part.isdigit() else part
