"""``VLLM_DI__SERVER__PORT``: settings from the environment, over those of the files."""

from __future__ import annotations

from collections.abc import Mapping

from containers.errors import SettingsError
from containers.settings.conversion import UnfitError, structure
from containers.settings.location import Location, dotted, kind_at
from containers.settings.origin import Origin
from containers.settings.tree import Tree, planted, rooted
from containers.vllm_api.kinds import ANYTHING, Kind

PREFIX = "VLLM_DI__"
_SEPARATOR = "__"


def with_variables(
    tree: Tree, environment: Mapping[str, str], kind: Kind, *, order: int
) -> Tree:
    """The tree with the settings in the environment put in.

    A variable's name is the key path in capitals, two underscores between its parts;
    its value is text, made what the key takes; a list or mapping is written as JSON.
    One that is not what its key takes is a problem of the tree, until it is replaced;
    its text names the variable and never shows its value.

    Args:
        tree: Settings so far.
        environment: Values by variable name.
        kind: What the settings as a whole take.
        order: Place of this layer among the sources.

    Raises:
        SettingsError: A variable's name leads nowhere.
    """
    for name in sorted(environment):
        if name.startswith(PREFIX):
            origin = Origin(name, variables=(name,), order=order)
            tree = _with_variable(tree, origin, environment[name], kind)
    return tree


def _with_variable(tree: Tree, origin: Origin, text: str, root: Kind) -> Tree:
    location = location_of(origin.source)
    kind = kind_at(root, location) or ANYTHING
    try:
        put = rooted(structure(text, kind), origin)
    except UnfitError as error:
        got = "which its value is not" if text else "and its value is empty"
        problem = SettingsError(
            file=origin.source,
            key=dotted(location),
            reason=f"takes {error}, {got}",
        )
        put = Tree(None, origin, problem)
    try:
        return planted(tree, location, put)
    except LookupError:
        raise SettingsError(
            file=origin.source,
            key=dotted(location),
            reason="leads nowhere",
            hint="Models are numbered from 0, in the order of the files.",
        ) from None


def location_of(name: str) -> Location:
    """Key path a variable's name stands for."""
    parts = name.removeprefix(PREFIX).lower().split(_SEPARATOR)
    return tuple(
        int(part) if part.isascii() and part.isdigit() else part for part in parts
    )
