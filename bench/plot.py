"""A curve as an SVG picture: two lines on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bench.figures import Curve

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 50, 60
COLOURS = ("#0b6bcb", "#c2410c", "#4d7c0f")


def draw(curve: Curve, folder: Path) -> Path:
    """Write the picture and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{curve.name.replace(' ', '-')}.svg"
    path.write_text(_svg(curve), encoding="utf-8")
    return path


def _svg(curve: Curve) -> str:
    points = [point for line in curve.points.values() for point in line]
    across = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    upwards = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(WIDTH / 2, 20, f"{curve.name} ({curve.unit})"),
        _text(WIDTH / 2, HEIGHT - 15, curve.over),
        *_grid(across, upwards),
        *_lines(curve, across, upwards),
        "</svg>",
    ]
    return "\n".join(parts)


class _Axis:
    """Places of values on a logarithmic axis, and its ticks."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self._low = math.log10(min(values))
        self._high = max(math.log10(max(values)), self._low + 0.1)
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    @property
    def ticks(self) -> Iterator[float]:
        for power in range(math.floor(self._low), math.ceil(self._high) + 1):
            for step in (1, 2, 5):
                if self._low <= math.log10(step) + power <= self._high:
                    yield step * 10**power


def _grid(across: _Axis, upwards: _Axis) -> Iterator[str]:
    for value in across.ticks:
        x = across.at(value)
        yield _stroke(x, TOP, x, HEIGHT - BOTTOM)
        yield _text(x, HEIGHT - BOTTOM + 18, f"{value:g}")
    for value in upwards.ticks:
        y = upwards.at(value)
        yield _stroke(LEFT, y, WIDTH - RIGHT, y)
        yield _text(LEFT - 8, y + 4, f"{value:,g}", anchor="end")


def _lines(curve: Curve, across: _Axis, upwards: _Axis) -> Iterator[str]:
    for number, (name, points) in enumerate(curve.points.items()):
        colour = COLOURS[number]
        places = [(across.at(x), upwards.at(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}"/>'
        for x, y in places:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield _text(LEFT + 10 + 120 * number, TOP - 10, name, colour, anchor="start")


def _stroke(x1: float, y1: float, x2: float, y2: float) -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} stroke="#ddd"/>'


def _text(
    x: float, y: float, text: str, colour: str = "#222", *, anchor: str = "middle"
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="12" font-family="sans-serif"'
    style = f'fill="{colour}" text-anchor="{anchor}"'
    return f"<text {place} {style}>{escape(text)}</text>"
