"""The graph in Graphviz' language."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from containers.graph.node import Node
from containers.graph.pictures.span import Spans

_HEAD = (
    "digraph {",
    '    node [fontname="monospace", fontsize=11, shape=box, style=rounded]',
    "    edge [arrowsize=0.7]",
)


def dot(
    nodes: Mapping[str, Node], uses: Mapping[str, Iterable[str]], spans: Spans
) -> str:
    """A digraph; what is not a resource has a dashed box."""
    lines = [*_HEAD]
    for name, node in nodes.items():
        label = f"{name}\n{spans[name]}" if name in spans else name
        style = "" if node.is_resource else ', style="rounded,dashed"'
        lines.append(f"    {_quoted(name)} [label={_quoted(label)}{style}]")
    for name in nodes:
        lines += [f"    {_quoted(target)} -> {_quoted(name)}" for target in uses[name]]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
