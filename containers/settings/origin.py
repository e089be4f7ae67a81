"""Where a value of the settings came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from containers.settings.document import Document
from containers.settings.location import Location

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that a value was written in.

    Attributes:
        source: The file's path as it was given, an environment variable's name, or
            ``--set``.
        document: The file, if it was one.
        location: Where in that file.
        variables: Environment variables that were filled into the value.
        order: Its place among the sources, later ones having won.
    """

    source: str
    document: Document | None = None
    location: Location = ()
    variables: tuple[str, ...] = ()
    order: int = 0

    @property
    def line(self) -> int | None:
        """Line in the file, from 1; ``None`` elsewhere."""
        return self.document.line_of(self.location) if self.document else None

    @property
    def folder(self) -> Path:
        """The folder relative paths are meant from."""
        if self.document is None:
            return Path.cwd()
        return Path(self.document.file).absolute().parent

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.document else self.source
        others = [name for name in self.variables if name != self.source]
        return ", ".join([place, *(f"${{{name}}}" for name in others)])


class Origins:
    """The origins of all values, by their location in the settings.

    Args:
        by_location: Origin of each value that was written somewhere.
    """

    def __init__(self, by_location: Mapping[Location, Origin] | None = None) -> None:
        self._by_location = by_location or {}

    def of(self, location: Location) -> Origin | None:
        """Origin of the value at exactly this location, if it was written."""
        return self._by_location.get(location)

    def nearest(self, location: Location) -> Origin | None:
        """Origin of that value, or of the section it would stand in."""
        return self.of(self._section(location))

    def is_filled(self, location: Location) -> bool:
        """Whether a variable was filled in anywhere in the section of a location."""
        section = self._section(location)
        return any(
            origin.variables
            for place, origin in self._by_location.items()
            if place[: len(section)] == section
        )

    def _section(self, location: Location) -> Location:
        for length in range(len(location), 0, -1):
            if location[:length] in self._by_location:
                return location[:length]
        return ()

    def __eq__(self, other: object) -> bool:
        """Settings are equal whatever file they were written in."""
        return isinstance(other, Origins)

    __hash__ = None  # type: ignore[assignment]  # equal ones would differ
