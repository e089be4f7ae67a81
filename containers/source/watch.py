"""Somebody waits while a model is unpacked: told how it goes, free to call it off."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

from containers.errors import SourceError

_EVERY_S = 2.0


class Watch:
    """Passes news on and notices a cancellation.

    Args:
        source: The configured source, for errors.
        on_progress: Called with a line of text whenever there is news, or never.
        cancelled: Once set, the next :meth:`tick` raises.
    """

    def __init__(
        self,
        source: str,
        on_progress: Callable[[str], None] | None = None,
        cancelled: Event | None = None,
    ) -> None:
        self.source = source
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._began = self._told = time.monotonic()

    def say(self, line: str) -> None:
        """Passes a line on."""
        self._told = time.monotonic()
        if self._on_progress:
            self._on_progress(line)

    def tick(self, doing: str) -> None:
        """To be called several times a second; after 2 s of silence tells the time.

        Raises:
            SourceError: It was cancelled.
        """
        if self._cancelled and self._cancelled.is_set():
            raise self.error(
                "it was cancelled", "Start again: nothing half done stays."
            )
        if time.monotonic() - self._told >= _EVERY_S:
            self.say(f"{doing}: {time.monotonic() - self._began:.0f} s")

    def error(self, reason: str, hint: str) -> SourceError:
        """An error that names the source."""
        return SourceError(source=self.source, reason=reason, hint=hint)
