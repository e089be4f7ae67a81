"""An event loop whose time passes only while nothing is to be done, and then at once.

What happens on it happens in the same order in every run, and takes no time.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class _Clock(selectors.SelectSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("nothing will ever happen any more")
            self.now += timeout
        return ready


class UnhurriedLoop(asyncio.SelectorEventLoop):
    """A loop for coroutines that use neither threads nor sockets."""

    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        """Seconds it has waited so far."""
        return self._clock.now
