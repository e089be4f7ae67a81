"""The graph as a Mermaid flowchart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from containers.graph.node import Node
from containers.graph.pictures.span import Spans


def mermaid(
    nodes: Mapping[str, Node], uses: Mapping[str, Iterable[str]], spans: Spans
) -> str:
    """A flowchart; resources are boxes, everything else is rounded."""
    lines = ["flowchart TD"]
    for name, node in nodes.items():
        opening, closing = ("[", "]") if node.is_resource else ("(", ")")
        label = name.replace('"', "#quot;")
        label += f"<br>{spans[name]}" if name in spans else ""
        lines.append(f'    {_id(name)}{opening}"{label}"{closing}')
    for name in nodes:
        lines += [f"    {_id(target)} --> {_id(name)}" for target in uses[name]]
    return "\n".join(lines)


def _id(name: str) -> str:
    # A letter in front: Mermaid reserves words such as "end" and "graph".
    return "n_" + re.sub(r"\W", lambda found: f"_{ord(found.group()):x}_", name)
