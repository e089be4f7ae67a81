"""Pictures of a graph; the same graph always gives the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from containers.graph.node import Node


def text(nodes: Mapping[str, Node], levels: Iterable[Iterable[str]]) -> str:
    """One provider a line, level by level, with its arguments."""
    width = max((len(name) for name in nodes), default=0)
    lines = []
    for number, level in enumerate(levels, start=1):
        for name in level:
            uses = ", ".join(str(edge) for edge in nodes[name].edges)
            lines.append(f"{number:>2}  {name:<{width}}  {uses}".rstrip())
    return "\n".join(lines)


def mermaid(nodes: Mapping[str, Node]) -> str:
    """A flowchart; resources are boxes, everything else is rounded."""
    lines = ["flowchart TD"]
    for name, node in nodes.items():
        opening, closing = ("[", "]") if node.is_resource else ("(", ")")
        lines.append(f'    {_id(name)}{opening}"{name}"{closing}')
    for name, node in nodes.items():
        lines += [f"    {_id(target)} --> {_id(name)}" for target in node.targets]
    return "\n".join(lines)


def _id(name: str) -> str:
    # A letter in front: Mermaid reserves words such as "end" and "graph".
    return "n_" + re.sub(r"\W", lambda found: f"_{ord(found.group()):x}_", name)
