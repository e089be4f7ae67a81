"""Blocking work in a thread of its own, so that the event loop stays free."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


@asynccontextmanager
async def held_in_thread(
    manager: AbstractContextManager[T], *, name: str, keeps_thread: bool
) -> AsyncIterator[T]:
    """Enter and leave a blocking context manager in one thread.

    A thread cannot be stopped. When entering is cancelled, the first cancellation waits
    for what the thread still brings, which it closes at once; a second one leaves the
    thread to do that alone. The thread never keeps the process alive.

    Args:
        manager: What to hold.
        name: Name of the thread.
        keeps_thread: Whether leaving does something, for which the thread waits.

    Yields:
        What entering gave.
    """
    loop = asyncio.get_running_loop()
    loaded: asyncio.Future[T] = loop.create_future()
    ended: asyncio.Future[BaseException | None] = loop.create_future()
    closing = threading.Event()

    def hold() -> None:
        error = None
        try:
            with manager as value:
                loop.call_soon_threadsafe(loaded.set_result, value)
                if keeps_thread:
                    closing.wait()
        except BaseException as caught:  # noqa: BLE001  # handed to the task that waits
            error = caught
        with suppress(RuntimeError):  # the loop is gone, and with it who waits
            loop.call_soon_threadsafe(ended.set_result, error)

    context = copy_context()
    threading.Thread(target=context.run, args=(hold,), name=name, daemon=True).start()
    try:
        waits: list[asyncio.Future[Any]] = [loaded, ended]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if loaded.done():
            yield loaded.result()
    finally:
        closing.set()
        await asyncio.wait([ended])
        if error := ended.result():
            raise error
