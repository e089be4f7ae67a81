"""Connections that stay open, and end with notice when the server does."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from starlette.status import WS_1001_GOING_AWAY

from app.errors import SHUTTING_DOWN
from app.flights import Flights


async def converse(connection: Any, flights: Flights) -> None:
    """Serve a connection until its client leaves or all has to end.

    Args:
        connection: vLLM's ``RealtimeConnection``; its generation is aborted with it.
        flights: The app's requests in flight; it is one of them.
    """
    with flights.one():
        talk = asyncio.create_task(connection.handle_connection())
        cutting = asyncio.create_task(flights.cut.wait())
        try:
            await asyncio.wait({talk, cutting}, return_when=asyncio.FIRST_COMPLETED)
            if not talk.done():
                await _take_leave(connection)
        finally:
            for each in (talk, cutting):
                each.cancel()
            await asyncio.wait({talk, cutting})


async def _take_leave(connection: Any) -> None:
    # The client may be gone already, in one of several ways.
    with suppress(Exception):
        await connection.send_error(SHUTTING_DOWN, "server_shutting_down")
        await connection.websocket.close(WS_1001_GOING_AWAY)
