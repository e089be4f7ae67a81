"""One start or stop at a time, all in one event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Turns:
    """Lets starts and stops of one container take turns.

    Args:
        is_loaded: Tells whether objects are loaded, which ties the container to the
            event loop of their start.
    """

    def __init__(self, is_loaded: Callable[[], bool]) -> None:
        self._is_loaded = is_loaded
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._callers = 0

    @asynccontextmanager
    async def take(
        self, *, before_waiting: Callable[[], None] | None = None
    ) -> AsyncIterator[None]:
        """Wait for the turn, and hold it for the block.

        Args:
            before_waiting: Called in the right loop, while another may have its turn.

        Raises:
            RuntimeError: Another event loop holds a turn or what was loaded.
        """
        self._join()
        try:
            if before_waiting is not None:
                before_waiting()
            async with self._lock:
                yield
        finally:
            with self._guard:
                self._callers -= 1

    def bind(self) -> None:
        """Tie the container to the running event loop, as loaded objects do.

        Raises:
            RuntimeError: Another event loop holds a turn or what was loaded.
        """
        self._join()
        with self._guard:
            self._callers -= 1

    def _join(self) -> None:
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._loop is not loop:
                if self._callers or self._is_loaded():
                    raise RuntimeError(
                        "this container was started in another event loop and is "
                        "still loaded there: stop it in that loop, or make a new "
                        "container if that loop is gone"
                    )
                self._loop, self._lock = loop, asyncio.Lock()
            self._callers += 1
