"""What happens to models while they serve, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

Kind = Literal["load", "unload", "heal", "give up"]


class Events:
    """How often what has happened to which model, and why."""

    def __init__(self) -> None:
        self.reloads: Counter[str] = Counter()
        self._counts: Counter[tuple[Kind, str, str]] = Counter()

    @property
    def n(self) -> int:
        """How many there were of all kinds."""
        return self.reloads.total() + self._counts.total()

    def count(self, kind: Kind, model: str, cause: str) -> None:
        """Count one more.

        Args:
            kind: What has happened.
            model: The model's name.
            cause: Why, in a word: ``death``, ``hang``, ``idle``, ``memory``...
        """
        self._counts[kind, model, cause] += 1

    def of(self, kind: Kind) -> Iterator[tuple[str, str, int]]:
        """Model, cause and number of each, in the order of their first time."""
        for (each, model, cause), n in self._counts.items():
            if each == kind:
                yield model, cause, n
