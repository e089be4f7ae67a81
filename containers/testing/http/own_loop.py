"""An event loop in a thread, which whatever tests run on cannot disturb."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class OwnLoop:
    """Runs coroutines for callers on any other loop, or on none.

    So an app lives on one loop whether its test has a loop for itself, shares one with
    a session, or has none at all.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, name="vllm-di test apps", daemon=True
        )
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Start a coroutine there and wait for it."""
        return self.submit(work).result()

    def tasks(self) -> set[asyncio.Task[Any]]:
        """Unfinished tasks there, but for the one that looks."""
        return self.run(_others())

    def close(self) -> None:
        """Cancel what still runs there and end the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            runner.get_loop().run_forever()


async def _others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}
