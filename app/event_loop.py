"""The event loop that a server process runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed; ``None`` for Python's own."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
