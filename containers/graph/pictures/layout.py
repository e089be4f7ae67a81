"""Where the boxes of a drawing go: rows by level, few crossings, straight lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Place = tuple[float, int]
"""Horizontal centre, in widths of a box from the left, and row, from 0."""

_Item = str | tuple[str, str, int]
"""A box, by its name, or the bend of an edge where it passes a row."""

_SWEEPS = 8
_BEND_WIDTH = 0.3


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of boxes and lines.

    Attributes:
        boxes: Places of boxes by name.
        lines: For each edge the places it runs through, downwards.
        width: Width of the whole, in widths of a box.
    """

    boxes: Mapping[str, Place]
    lines: Sequence[Sequence[Place]]
    width: float


def laid_out(
    uses: Mapping[str, Iterable[str]], levels: Iterable[Iterable[str]]
) -> Layout:
    """Arrange a graph, users below what they use.

    Args:
        uses: What each box uses; every box is a key.
        levels: Boxes by row; each uses only boxes of earlier rows.
    """
    rows: list[list[_Item]] = [list(level) for level in levels]
    row_of: dict[_Item, int] = {item: n for n, row in enumerate(rows) for item in row}
    chains: list[list[_Item]] = []
    for user, targets in uses.items():
        for used in targets:
            between = range(row_of[used] + 1, row_of[user])
            bends: list[_Item] = [(used, user, number) for number in between]
            for bend, number in zip(bends, between, strict=True):
                rows[number].append(bend)
                row_of[bend] = number
            chains.append([used, *bends, user])
    x = _centres(rows, chains)
    return Layout(
        boxes={name: (x[name], row_of[name]) for name in uses},
        lines=[[(x[item], row_of[item]) for item in chain] for chain in chains],
        width=max((x[item] + _width(item) / 2 for item in x), default=0.0),
    )


def _centres(
    rows: Sequence[list[_Item]], chains: Iterable[Sequence[_Item]]
) -> dict[_Item, float]:
    """Move each item towards what it is joined to, row after row, down and up."""
    above: dict[_Item, list[_Item]] = {item: [] for row in rows for item in row}
    below: dict[_Item, list[_Item]] = {item: [] for row in rows for item in row}
    for chain in chains:
        for upper, lower in pairwise(chain):
            above[lower].append(upper)
            below[upper].append(lower)
    x: dict[_Item, float] = {}
    for row in rows:
        x |= _spread(row, [0.0] * len(row))
    for _ in range(_SWEEPS):
        for near, order in ((above, rows), (below, rows[::-1])):
            for row in order:
                wanted = {i: _mean([x[j] for j in near[i]] or [x[i]]) for i in row}
                row.sort(key=wanted.__getitem__)
                x |= _spread(row, [wanted[item] for item in row])
    left = min((x[item] - _width(item) / 2 for item in x), default=0.0)
    return {item: centre - left for item, centre in x.items()}


def _spread(row: Sequence[_Item], wanted: Sequence[float]) -> dict[_Item, float]:
    """Centres nearest to the wanted ones that keep the order and do not overlap."""
    offset = 0.0
    offsets: list[float] = []
    blocks: list[list[float]] = []
    for item, centre in zip(row, wanted, strict=True):
        offset += _width(item) / 2
        offsets.append(offset)
        blocks.append([centre - offset])
        offset += _width(item) / 2
        # Neighbours that would overlap move as one block.
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    starts = [_mean(block) for block in blocks for _ in block]
    return {i: s + o for i, s, o in zip(row, starts, offsets, strict=True)}


def _width(item: _Item) -> float:
    return 1.0 if isinstance(item, str) else _BEND_WIDTH


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
