"""Comment lines that keep an idle stream of events open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

COMMENT = ": keep-alive\n\n"


async def keep_alive(
    events: AsyncGenerator[str, None], *, interval_s: float
) -> AsyncGenerator[str, None]:
    """The events, and a comment whenever none has come for a while.

    Proxies close a connection on which nothing is sent while a request waits or its
    prompt is read; clients skip comments.

    Args:
        events: Generator of server-sent events; it is closed with this one.
        interval_s: Seconds without an event, above 0.

    Source:
        vllm/entrypoints/serve/utils/sse_keep_alive.py (0.32.0).
    """
    coming: asyncio.Task[str | None] | None = None
    try:
        while True:
            coming = asyncio.create_task(_next(events))
            while not (await asyncio.wait({coming}, timeout=interval_s))[0]:
                yield COMMENT
            event = coming.result()
            if event is None:
                return
            yield event
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await events.aclose()


async def _next(events: AsyncGenerator[str, None]) -> str | None:
    return await anext(events, None)
