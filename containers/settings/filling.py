"""Placeholders of a tree of values, filled in and made what their keys take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from containers.errors import SettingsError
from containers.settings.conversion import UnfitError, converted
from containers.settings.location import Location, dotted, is_free_text
from containers.settings.placeholders import Filled, PlaceholderError, filled
from containers.settings.tree import Tree
from containers.vllm_api.kinds import ANYTHING, Kind, inner


class Filler:
    """Fills in the placeholders of any number of trees.

    Args:
        environment: Values by variable name.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def fill(self, tree: Tree, kind: Kind | None, location: Location = ()) -> Tree:
        """The tree with every placeholder filled in, free text left as it is.

        A value whose placeholder cannot be filled in stays as it was written, with the
        problem beside it.

        Args:
            tree: Values as they were written.
            kind: What the value at ``location`` takes; ``None`` when nothing is known.
            location: Where in the settings the tree stands.
        """
        if is_free_text(location):
            return tree
        value: Any = tree.value
        if isinstance(value, dict):
            inside = {key: self._inner(kind, key, location) for key in value}
            made: Any = {k: self.fill(value[k], *inside[k]) for k in value}
            return Tree(made, tree.origin)
        if isinstance(value, list):
            made = [
                self.fill(each, *self._inner(kind, index, location))
                for index, each in enumerate(value)
            ]
            return Tree(made, tree.origin)
        if isinstance(value, str) and "$" in value:
            return self._filled(tree, kind or ANYTHING, location)
        return tree

    @staticmethod
    def _inner(
        kind: Kind | None, part: Any, location: Location
    ) -> tuple[Kind | None, Location]:
        return (inner(kind, part) if kind is not None else None), (*location, part)

    def _filled(self, tree: Tree, kind: Kind, location: Location) -> Tree:
        try:
            result = filled(tree.value, self._environment)
        except PlaceholderError as error:
            return _refused(tree, location, error.reason, error.hint)
        origin = replace(tree.origin, variables=result.variables)
        if not result.names:
            return Tree(result.text, origin)
        try:
            return Tree(converted(result.text, kind), origin)
        except UnfitError as error:
            return _refused(tree, location, *_unfit(str(error), result))


def _refused(tree: Tree, location: Location, reason: str, hint: str) -> Tree:
    origin = tree.origin
    problem = SettingsError(
        key=dotted(location),
        reason=reason,
        hint=hint,
        file=origin.source,
        line=origin.line,
    )
    return replace(tree, problem=problem)


def _unfit(expected: str, result: Filled) -> tuple[str, str]:
    names = " and ".join(f"${{{name}}}" for name in result.names)
    hint = (
        "Truth values are true, false, 1 or 0." if "true or false" in expected else ""
    )
    if "a list" in expected or "a mapping" in expected:
        hint = f"A variable gives one value; write [{names}] for a list of it."
    if not result.text:
        return f"takes {expected}, and the value of {names} is empty", hint
    return f"takes {expected}, which the value of {names} is not", hint
