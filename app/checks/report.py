"""Checks as lines: what was tried, how it came out, what to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from typing import TextIO, TypeVar

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from containers.errors import ServingError

T = TypeVar("T")

NAME_WIDTH = 15


class Outcome(Enum):
    """How a check came out: its word, and its mark and colour in a terminal."""

    OK = ("ok", "✓", "green")
    FAILED = ("failed", "✗", "red")
    NOT_TRIED = ("not tried", "·", "yellow")


class Report:
    """Prints a line for each check as soon as its outcome is known.

    Args:
        stream: Where to print: with marks and colours if it is a terminal, else plain.

    Attributes:
        has_failed: Whether a check has failed.
        n_not_tried: Checks that could not be tried.
    """

    def __init__(self, stream: TextIO) -> None:
        self.has_failed = False
        self.n_not_tried = 0
        self._name_width = NAME_WIDTH
        self._stream = stream
        self._console = Console(file=stream, highlight=False)
        self._status: Status | None = None
        if stream.isatty() and os.environ.get("TERM") != "dumb":
            self._status = self._console.status("")

    def make_room(self, name: str) -> None:
        """Give the column of names room for a long one that is to come."""
        self._name_width = max(self._name_width, len(name))

    def attempt(
        self, name: str, action: Callable[[], T], describe: Callable[[T], str]
    ) -> T | None:
        """Do something, print how it came out, and return its result.

        Args:
            name: Name of the check.
            action: What to do; a ``ServingError`` is a failed check.
            describe: What to say of the result.

        Returns:
            The result, or ``None`` when the check failed.
        """
        try:
            result = action()
        except ServingError as error:
            self.failed(name, error)
            return None
        self.ok(name, describe(result))
        return result

    def ok(self, name: str, text: str, *, seconds: float | None = None) -> None:
        """Print a check that went well, and perhaps how long it took."""
        took = f" ({seconds:.1f} s)" if seconds is not None else ""
        self._line(Outcome.OK, name, text + took)

    def failed(self, name: str, error: BaseException) -> None:
        """Print a check that failed; the text of our errors says what to do."""
        self.has_failed = True
        is_ours = isinstance(error, ServingError)
        self._line(
            Outcome.FAILED,
            name,
            str(error) if is_ours else f"{type(error).__name__}: {error}",
        )

    def not_tried(self, name: str, reason: str) -> None:
        """Print a check that could not be tried, and why."""
        self.n_not_tried += 1
        self._line(Outcome.NOT_TRIED, name, reason)

    def doing(self, text: str) -> None:
        """Show in a terminal what is going on until the next line."""
        if self._status is not None:
            self._status.update(text)
            self._status.start()

    def close(self, verdict: str = "") -> None:
        """Say how it all came out.

        Args:
            verdict: The words for it; by default they follow from the outcomes.
        """
        self._stop_status()
        self._stream.write(f"{verdict or self._verdict()}\n")
        self._stream.flush()

    def _verdict(self) -> str:
        if self.has_failed:
            return "This will not start."
        if self.n_not_tried:
            n_checks = f"{self.n_not_tried} checks were"
            some = "1 check was" if self.n_not_tried == 1 else n_checks
            return f"Nothing is wrong so far; {some} not tried."
        return "All is well."

    def _line(self, outcome: Outcome, name: str, text: str) -> None:
        word, mark, colour = outcome.value
        if self._status is None:
            first, *rest = text.splitlines() or [""]
            lines = [f"{word:<10} {name:<{self._name_width}} {first}"]
            lines += [f"{'':<{self._name_width + 11}} {line}" for line in rest]
            self._stream.write("\n".join(lines) + "\n")
            self._stream.flush()
            return
        self._stop_status()
        row = Table.grid(padding=(0, 1))
        row.add_column(width=1)
        row.add_column(width=max(self._name_width, len(name)))
        row.add_column(overflow="fold")
        row.add_row(Text(mark, style=colour), Text(name), Text(text))
        self._console.print(row)

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
