"""What serving objects return, as HTTP responses that end when their client goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

T = TypeVar("T")

CLIENT_CLOSED_REQUEST = 499
"""Status of an answer nobody reads any more, for logs and metrics."""


async def answer(request: Request, work: Coroutine[Any, Any, Any]) -> Response:
    """Await a serving object's answer and make the response of it.

    Args:
        request: The request, its body already read.
        work: Coroutine that gives a response model, vLLM's ``ErrorResponse``, or an
            async generator of server-sent events. It is cancelled, and with it the
            generation, when the client goes away first.
    """
    try:
        result = await until_disconnect(request.receive, work)
    except ClientGoneError:
        return Response(status_code=CLIENT_CLOSED_REQUEST)
    if isinstance(result, AsyncGenerator):
        return EventStream(result)
    status = getattr(getattr(result, "error", None), "code", 200)
    return JSONResponse(result.model_dump(), status_code=int(status))


class ClientGoneError(Exception):
    """The client closed its connection before its answer was made."""


async def until_disconnect(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Await work, or cancel it when the client goes away.

    It listens on ASGI's ``receive``, not on ``Request.is_disconnected``, which a
    ``BaseHTTPMiddleware`` of the host keeps from ever turning true.

    Raises:
        ClientGoneError: The client is gone; ``work`` has ended by then.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGoneError
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Server-sent events that stop, and close their generator, with their client.

    Args:
        events: Generator of ready-made events. It is closed in any case, so its
            generation is aborted at once rather than when it is collected.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str, None]) -> None:
        super().__init__(events)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end or the client is gone."""
        del scope
        try:
            await until_disconnect(receive, self.stream_response(send))
        except (ClientGoneError, OSError):
            return
        finally:
            await self._events.aclose()
