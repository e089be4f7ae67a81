"""A YAML file's data, which still knows the line of every key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yaml.nodes import MappingNode, Node, SequenceNode

from containers.settings.location import Location


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed file.

    Attributes:
        file: The file's path, as it was given.
        data: What the file says: a mapping of sections.
        node: The tree of YAML nodes it was made of, with their places in the text.
    """

    file: str
    data: dict[Any, Any]
    node: Node

    def line_of(self, location: Location) -> int:
        """Line of the key at ``location``, from 1.

        A key the file does not have is placed where its section begins.
        """
        place, node = self.node, self.node
        for part in location:
            found = _step(node, part)
            if found is None:
                break
            place, node = found
        return place.start_mark.line + 1


def _step(node: Node, part: int | str) -> tuple[Node, Node] | None:
    """The node whose place to show for ``part``, and the node of its value."""
    if isinstance(node, MappingNode):
        # The last of equal keys counts: what a merge key brings comes before the own.
        for key, value in reversed(node.value):
            if key.value == str(part):
                return key, value
    if isinstance(node, SequenceNode) and isinstance(part, int):
        return node.value[part], node.value[part]
    return None
