"""When a resource was loaded, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """One bar of the start-up waterfall.

    Attributes:
        begin_s: Seconds from the start of the first resource, 0 or more.
        seconds: How long the builder took.
    """

    begin_s: float
    seconds: float

    @property
    def end_s(self) -> float:
        """When it was ready, in seconds from the start of the first resource."""
        return self.begin_s + self.seconds

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s"


Spans = Mapping[str, Span]
"""Spans by resource name; empty for a picture without times."""


def in_order(spans: Spans) -> list[tuple[str, Span]]:
    """Spans by their begin, those of the same moment by their end."""
    return sorted(spans.items(), key=lambda item: (item[1].begin_s, item[1].end_s))


def total_s(spans: Spans) -> float:
    """Seconds from the first begin to the last end; 0 without spans."""
    return max((span.end_s for span in spans.values()), default=0.0)
