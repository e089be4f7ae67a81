"""What a server asks of the other processes that are front ends of its engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from containers.settings import Settings


class Others(Protocol):
    """The other front ends of a server."""

    async def measured(self, own: bytes) -> bytes:
        """The metrics of all of them together.

        Args:
            own: Those of this process, in Prometheus' text format.
        """

    async def n_in_flight(self) -> int:
        """How many requests they are answering."""

    async def reload(self, settings: Settings) -> None:
        """Have them serve new settings, once this process does."""

    async def set_levels(self, levels: Mapping[str, str | None]) -> None:
        """Have their loggers say as much as those of this process.

        Args:
            levels: A level for each logger, as ``PUT /admin/loggers`` takes them.
        """

    async def reset_mm_cache(self) -> None:
        """Have them forget the images, sounds and videos they have read."""


class Nobody:
    """There are no others: the process serves alone."""

    async def measured(self, own: bytes) -> bytes:
        """What it was given."""
        return own

    async def n_in_flight(self) -> int:
        """None."""
        return 0

    async def reload(self, settings: Settings) -> None:
        """Nobody has to be told."""

    async def set_levels(self, levels: Mapping[str, str | None]) -> None:
        """Nobody has to be told."""

    async def reset_mm_cache(self) -> None:
        """Nobody has to be told."""
