"""The levels as text, and the start-up waterfall below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from containers.graph.node import Node
from containers.graph.pictures.span import Span, Spans, in_order, total_s

BAR_WIDTH = 40


def text(
    nodes: Mapping[str, Node], levels: Iterable[Iterable[str]], spans: Spans
) -> str:
    """One provider a line, level by level, with its arguments and seconds."""
    width = max((len(name) for name in nodes), default=0)
    lines = []
    for number, level in enumerate(levels, start=1):
        for name in level:
            uses = ", ".join(str(edge) for edge in nodes[name].edges)
            seconds = f"{spans.get(name, '')!s:>9}  " if spans else ""
            lines.append(f"{number:>2}  {name:<{width}}  {seconds}{uses}".rstrip())
    if spans:
        lines += ["", *_waterfall(spans, width)]
    return "\n".join(lines)


def _waterfall(spans: Spans, width: int) -> Iterable[str]:
    whole = total_s(spans)
    yield f"start-up: {whole:.2f} s"
    for name, span in in_order(spans):
        bar = _bar(span, whole)
        yield f"    {name:<{width}}  {bar:<{BAR_WIDTH}}  {span!s:>9}"


def _bar(span: Span, whole: float) -> str:
    scale = BAR_WIDTH / whole if whole else 0.0
    begin = min(round(span.begin_s * scale), BAR_WIDTH - 1)
    end = min(round(span.end_s * scale), BAR_WIDTH)
    # What is too short for a block of its own is still there.
    return " " * begin + ("█" * (end - begin) or "▏")
