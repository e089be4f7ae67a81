"""Bounds of numbers, by pydantic's names, in words and in JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

WORDS = {
    "gt": "over {}",
    "ge": "of at least {}",
    "lt": "under {}",
    "le": "at most {}",
}
_SCHEMA = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
}


@dataclass(frozen=True)
class Range:
    """Bounds of a number; ``None`` where there is none.

    Attributes:
        gt: It is over this.
        ge: It is at least this.
        lt: It is under this.
        le: It is at most this.
    """

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    def allows(self, value: float) -> bool:
        """Whether a number is within the bounds."""
        return not (
            (self.gt is not None and not value > self.gt)
            or (self.ge is not None and not value >= self.ge)
            or (self.lt is not None and not value < self.lt)
            or (self.le is not None and not value <= self.le)
        )

    def in_words(self) -> str:
        """Such as ``over 0 and at most 1``."""
        return " and ".join(WORDS[k].format(v) for k, v in self.bounds().items())

    def schema(self) -> Mapping[str, float]:
        """The bounds by JSON Schema's names."""
        return {_SCHEMA[name]: bound for name, bound in self.bounds().items()}

    def bounds(self) -> Mapping[str, float]:
        """The bounds there are, by name."""
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: bound for name, bound in named.items() if bound is not None}
