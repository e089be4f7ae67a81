"""The graph as an SVG image, drawn without any other program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from containers.graph.node import Node
from containers.graph.pictures.layout import Layout, Place, laid_out
from containers.graph.pictures.span import Spans, in_order, total_s

_CHARACTER = 7.25  # the advance of a 12 px monospace font, and a little
_BOX_HEIGHT = 34
_ROW_HEIGHT = 64
_GAP = 22
_MARGIN = 12
_BAR_HEIGHT = 20
_BAR_SPACE = 320

_STYLE = """
  text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
  .name { text-anchor: middle; dominant-baseline: central; }
  .resource { fill: #ddf4ff; stroke: #0969da; }
  .given { fill: none; stroke: #8b949e; stroke-dasharray: 4 3; }
  .line { fill: none; stroke: #8b949e; stroke-width: 1.4; }
  .tip { fill: #8b949e; }
  .bar { fill: #54aeff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .resource { fill: #0c2d6b; stroke: #58a6ff; }
    .bar { fill: #1f6feb; }
  }
"""
_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
    ' markerHeight="7" orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker>'
)


def svg(
    nodes: Mapping[str, Node],
    uses: Mapping[str, Iterable[str]],
    levels: Sequence[Iterable[str]],
    spans: Spans,
) -> str:
    """A drawing for light and dark pages; a box's tooltip lists its arguments."""
    layout = laid_out(uses, levels)
    box_width = max((len(name) for name in nodes), default=0) * _CHARACTER + 20
    drawing = _Drawing(layout, box_width)
    body = [*drawing.lines(), *drawing.boxes(nodes, spans)]
    width = layout.width * drawing.pitch - _GAP + 2 * _MARGIN
    height = (len(levels) - 1) * _ROW_HEIGHT + _BOX_HEIGHT + 2 * _MARGIN
    if spans:
        body += _waterfall(spans, box_width, height)
        width = max(width, box_width + _BAR_SPACE + 90)
        height += (len(spans) + 1) * _BAR_HEIGHT + _MARGIN
    return "\n".join([*_head(width, height), *body, "</svg>"])


def _head(width: float, height: float) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        ' role="img" aria-label="Graph of providers">'
    )
    yield f"<style>{_STYLE}</style>"
    yield _TIP


class _Drawing:
    """Turns places into coordinates, in pixels."""

    def __init__(self, layout: Layout, box_width: float) -> None:
        self.pitch = box_width + _GAP
        self._layout = layout
        self._box_width = box_width

    def boxes(self, nodes: Mapping[str, Node], spans: Spans) -> Iterator[str]:
        for name, node in nodes.items():
            x, y = self._centre(self._layout.boxes[name])
            kind = "resource" if node.is_resource else "given"
            arguments = "\n".join([name, *map(str, node.edges)])
            left, top = x - self._box_width / 2, y - _BOX_HEIGHT / 2
            yield (
                f"<g><title>{escape(arguments)}</title>"
                f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" rx="6"'
                f' width="{self._box_width:.1f}" height="{_BOX_HEIGHT}"/>'
            )
            if name in spans:
                yield _label(x, y - 7, name) + _label(x, y + 8, str(spans[name]))
            else:
                yield _label(x, y, name)
            yield "</g>"

    def lines(self) -> Iterator[str]:
        half = _BOX_HEIGHT / 2
        for line in self._layout.lines:
            # Through the rows between, a line runs straight, so that it cuts no box.
            points = [
                (x, y + side)
                for x, y in map(self._centre, line)
                for side in (-half, half)
            ][1:-1]
            yield f'<path class="line" marker-end="url(#tip)" d="{_curve(points)}"/>'

    def _centre(self, place: Place) -> tuple[float, float]:
        x, row = place
        left = x * self.pitch - _GAP / 2 + _MARGIN
        return left, row * _ROW_HEIGHT + _BOX_HEIGHT / 2 + _MARGIN


def _curve(points: Sequence[tuple[float, float]]) -> str:
    steps = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        steps.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
    return " ".join(steps)


def _waterfall(spans: Spans, name_width: float, top: float) -> Iterator[str]:
    whole = total_s(spans)
    scale = _BAR_SPACE / whole if whole else 0.0
    left = _MARGIN + name_width
    heading = f"start-up: {whole:.2f} s"
    yield f'<text x="{_MARGIN}" y="{top + 12:.1f}">{heading}</text>'
    for number, (name, span) in enumerate(in_order(spans), start=1):
        y = top + number * _BAR_HEIGHT
        begin, length = left + span.begin_s * scale, max(span.seconds * scale, 1.0)
        yield (
            f'<text x="{_MARGIN}" y="{y + 12:.1f}">{escape(name)}</text>'
            f'<rect class="bar" x="{begin:.1f}" y="{y + 2:.1f}" rx="2"'
            f' width="{length:.1f}" height="13"/>'
            f'<text x="{begin + length + 6:.1f}" y="{y + 12:.1f}">{span}</text>'
        )


def _label(x: float, y: float, text: str) -> str:
    return f'<text class="name" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
