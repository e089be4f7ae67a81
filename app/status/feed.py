"""The picture of a server, told anew whenever it changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic
from weakref import WeakKeyDictionary

from starlette.responses import StreamingResponse
from starlette.types import Send

from app.service import Service
from app.status.picture import Stamp, figures, picture, stamp, written

LOOK_EVERY_S = 0.2
"""Seconds between two looks at whether anything has changed."""
FIGURES_EVERY_S = 1.0
"""Seconds between two events of figures."""
LIFETIME_S = 10.0
"""Seconds after which a feed ends, and whoever reads it asks anew.

A server that is told to end waits for its connections, and one of these would have no
end by itself.
"""
PATIENCE_S = 2.0
"""Seconds more that whoever reads it has to take what was told."""

_looks: WeakKeyDictionary[Service, tuple[float, Stamp]] = WeakKeyDictionary()


class Feed(StreamingResponse):
    """The events as a response, which ends also where nobody reads on.

    Such a connection is closed without the end of its answer: there is no room for one.

    Args:
        service: The running side of an app.
        headers: Headers of the response.
    """

    media_type = "text/event-stream"

    def __init__(self, service: Service, headers: dict[str, str]) -> None:
        self._events = events(service)
        super().__init__(self._events, headers=headers)

    async def stream_response(self, send: Send) -> None:
        """Send event by event, for a bounded time."""
        try:
            async with asyncio.timeout(LIFETIME_S + PATIENCE_S) as limit:
                await super().stream_response(send)
        except TimeoutError:
            if not limit.expired():
                raise
        finally:
            await self._events.aclose()


async def events(
    service: Service, *, lifetime_s: float | None = None
) -> AsyncGenerator[str, None]:
    """Server-sent events: ``status`` now and after changes, ``figures`` each second.

    Args:
        service: The running side of an app.
        lifetime_s: Seconds after which they end, by default 10; they end too when the
            server does.
    """
    end = monotonic() + (LIFETIME_S if lifetime_s is None else lifetime_s)
    due, seen = 0.0, None
    while not service.is_leaving and (now := monotonic()) < end:
        stamped = _stamp_of_now(service, now)
        if stamped != seen:
            seen = stamped
            yield event("status", picture(service))
        if now >= due:
            due = now + FIGURES_EVERY_S
            yield event("figures", written(figures(service)))
        await asyncio.sleep(LOOK_EVERY_S)


def _stamp_of_now(service: Service, now: float) -> Stamp:
    """The stamp, which all feeds share: there may be hundreds, and as many models."""
    looked, stamped = _looks.get(service, (0.0, ()))
    if now - looked > LOOK_EVERY_S / 2:
        stamped = stamp(service)
        _looks[service] = now, stamped
    return stamped


def event(name: str, content: str) -> str:
    """One server-sent event of JSON."""
    return f"event: {name}\ndata: {content}\n\n"
