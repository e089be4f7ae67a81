"""What is wrong with a cassette."""

from __future__ import annotations

from containers.errors.serving_error import ServingError


class CassetteError(ServingError):
    """A cassette holds no answer to a request, or cannot be read or written.

    Attributes:
        path: The cassette's file.
        reason: What is wrong, without a full stop.
        hint: What to do.
        line: Line of the file it is about, from 1, or ``None`` for all of it.
    """

    def __init__(
        self, *, path: str, reason: str, hint: str, line: int | None = None
    ) -> None:
        self.path = path
        self.reason = reason
        self.hint = hint
        self.line = line
        super().__init__(path, reason)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        gap = "\n" if "\n" in self.reason else " "
        return f"cassette {place}: {self.reason}.{gap}{self.hint}"
