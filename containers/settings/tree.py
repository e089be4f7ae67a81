"""Values that know their origin, and how one layer of them covers another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from containers.errors import SettingsError
from containers.settings.document import Document
from containers.settings.location import Location
from containers.settings.origin import Origin


@dataclass(frozen=True, slots=True)
class Tree:
    """A value and where it was written.

    Attributes:
        value: A plain value, a mapping to trees, or a list of trees.
        origin: Where it was written.
        problem: Why its placeholder could not be filled in; it counts unless a later
            layer replaces the value.
    """

    value: Any
    origin: Origin
    problem: SettingsError | None = None

    @property
    def is_section(self) -> bool:
        """Whether it is a mapping or a list."""
        return isinstance(self.value, dict | list)


def tree_of(document: Document, *, order: int) -> Tree:
    """The values of a file, each with its place."""

    def grow(value: Any, location: Location) -> Tree:
        if isinstance(value, dict):
            value = {key: grow(each, (*location, key)) for key, each in value.items()}
        elif isinstance(value, list):
            value = [grow(each, (*location, n)) for n, each in enumerate(value)]
        return Tree(value, Origin(document.file, document, location, order=order))

    return grow(document.data, ())


def rooted(value: Any, origin: Origin) -> Tree:
    """A value that was written as a whole, outside any file."""
    if isinstance(value, dict):
        value = {key: rooted(each, origin) for key, each in value.items()}
    elif isinstance(value, list):
        value = [rooted(each, origin) for each in value]
    return Tree(value, origin)


def covered(below: Tree, above: Tree, location: Location = ()) -> Tree:
    """One layer over another: maps merge, models merge by name, the rest is replaced.

    A section with nothing under it leaves the one below as it is.
    """
    if above.value is None and below.is_section:
        return below
    both = (below.value, above.value)
    if location == ("models",) and all(isinstance(each, list) for each in both):
        return _covered_models(below, above)
    if not all(isinstance(each, dict) for each in both):
        return above
    merged = dict(below.value)
    for key, value in above.value.items():
        known = key in merged
        merged[key] = covered(merged[key], value, (*location, key)) if known else value
    return Tree(merged, below.origin)


def _covered_models(below: Tree, above: Tree) -> Tree:
    merged: list[Tree] = list(below.value)
    for model in above.value:
        name = _name(model)
        same = [n for n, each in enumerate(merged) if name and _name(each) == name]
        if same:
            merged[same[0]] = covered(merged[same[0]], model, ("models", same[0]))
        else:
            merged.append(model)
    return Tree(merged, below.origin)


def _name(model: Tree) -> Any:
    if not isinstance(model.value, dict):
        return None
    name, names = model.value.get("name"), model.value.get("names")
    if name is None and names is not None and isinstance(names.value, list):
        name = next(iter(names.value), None)
    return name.value if name is not None and isinstance(name.value, str) else None


def planted(tree: Tree, location: Location, value: Tree) -> Tree:
    """The tree with the value at ``location`` put in, its sections made as needed.

    Raises:
        LookupError: The location leads through something that is no section, or to
            an index the list does not have.
    """
    if not location:
        return covered(tree, value) if value.is_section else value
    part, *rest = location
    section = tree.value
    if section is None:
        section = [] if isinstance(part, int) else {}
    if isinstance(section, list) and isinstance(part, int) and part <= len(section):
        items = [*section, *([_bare(value)] if part == len(section) else [])]
        items[part] = planted(items[part], tuple(rest), value)
        return replace(tree, value=items)
    if isinstance(section, dict):
        inside = planted(section.get(part, _bare(value)), tuple(rest), value)
        return replace(tree, value={**section, part: inside})
    raise LookupError(part)


def _bare(value: Tree) -> Tree:
    return Tree(None, value.origin)


def plain(tree: Tree) -> Any:
    """The values alone."""
    if isinstance(tree.value, dict):
        return {key: plain(each) for key, each in tree.value.items()}
    if isinstance(tree.value, list):
        return [plain(each) for each in tree.value]
    return tree.value


def walked(tree: Tree, location: Location = ()) -> Iterator[tuple[Location, Tree]]:
    """Every value with its location, sections before what is in them."""
    yield location, tree
    section: Mapping[Any, Tree] | Sequence[Tree] = tree.value
    if isinstance(section, dict):
        for key, each in section.items():
            yield from walked(each, (*location, key))
    elif isinstance(section, list):
        for index, each in enumerate(section):
            yield from walked(each, (*location, index))
