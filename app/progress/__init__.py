"""What a start is doing: live in a terminal, as plain lines anywhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dependency_injector.containers import Container

from app.progress.lines import StartProgress

__all__ = ["StartProgress", "start_progress"]

ERROR_FD = 2


def start_progress(
    models: Mapping[str, Container], *, is_logged: bool = False
) -> StartProgress:
    """Make the display that fits standard error.

    Args:
        models: Containers by model name, before their start, in its order.
        is_logged: Whether what it says are log lines, on a terminal too.
    """
    if is_logged:
        from app.progress.logged import LoggedProgress

        return LoggedProgress(models)
    is_terminal = os.isatty(ERROR_FD) and os.environ.get("TERM", "dumb") != "dumb"
    if not is_terminal:
        return StartProgress(models)
    from app.progress.live import LiveProgress

    return LiveProgress(models)
