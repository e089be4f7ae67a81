"""What a start is doing, as log lines."""

from __future__ import annotations

import logging

from app.logs import COMMAND
from app.progress.lines import StartProgress

logger = logging.getLogger(COMMAND)


class LoggedProgress(StartProgress):
    """Says in the log what others print; our own log lines stay as they are.

    Args and what it says are those of :class:`StartProgress`.
    """

    def say(self, text: str) -> None:
        """Log one line."""
        logger.info("%s", text)

    def show(self, *lines: str) -> None:
        """Show nothing: who reads a log tries nothing out."""

    def _follow_own_logs(self) -> None:
        """Leave them to the log."""
