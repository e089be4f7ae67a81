"""What serving objects return, as HTTP responses that end when their client goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from app.errors import CLIENT_CLOSED_REQUEST, SHUTTING_DOWN, unavailability, unavailable
from app.flights import Flights
from app.json_response import JsonAnswer
from app.keep_alive import keep_alive
from app.load_metrics import load_headers
from app.service import service_of
from app.shapes import OPENAI, SHAPE, Error, Shape
from containers.vllm_api.error_response import error_content

logger = logging.getLogger(__name__)

T = TypeVar("T")

LAST_WORD_S = 0.5
"""Seconds a client has to take the last event of a stream that is cut."""


class ClientGoneError(Exception):
    """The client closed its connection before its answer was made."""


class CutError(Exception):
    """The answer was ended because the server is shutting down."""


async def answer(
    request: Request,
    work: Coroutine[Any, Any, Any],
    *,
    shape: Shape = OPENAI,
    reports_load: bool = False,
) -> Response:
    """Await a serving object's answer and make the response of it.

    Args:
        request: The request, its body already read.
        work: Coroutine that gives a response model or several, vLLM's
            ``ErrorResponse``, a ready response, or an async generator of server-sent
            events. It is cancelled, and with it the generation, when the client goes
            away first.
        shape: How the API writes answers.
        reports_load: Whether a whole answer tells the engine's load, if it is asked to.
    """
    request.scope[SHAPE] = shape
    flights = service_of(request).flights
    try:
        with flights.one():
            result = await until_ended(work, request.receive, flights.cut)
            if isinstance(result, AsyncGenerator):
                # Its flight begins before this one ends: a drain must not see none.
                events = _kept_alive(request, shape.events(result))
                return EventStream(events, flights, shape)
    except ClientGoneError:
        return Response(status_code=CLIENT_CLOSED_REQUEST)
    except CutError:
        return unavailable(SHUTTING_DOWN, shape)
    if isinstance(result, Response):
        return result
    status = getattr(getattr(result, "error", None), "code", None)
    if isinstance(status, int):
        content = shape.error(result.model_dump()["error"])
        return JsonAnswer(content, status_code=status)
    headers = load_headers(request) if reports_load else None
    return JsonAnswer(shape.content(result), headers=headers)


def _kept_alive(
    request: Request, events: AsyncGenerator[str, None]
) -> AsyncGenerator[str, None]:
    interval_s = service_of(request).sse_keep_alive_interval_s
    return keep_alive(events, interval_s=interval_s) if interval_s else events


async def until_ended(
    work: Coroutine[Any, Any, T], receive: Receive, cut: asyncio.Event
) -> T:
    """Await work, or cancel it when the client goes away or the server has to stop.

    It listens on ASGI's ``receive``, not on ``Request.is_disconnected``, which a
    ``BaseHTTPMiddleware`` of the host keeps from ever turning true.

    Raises:
        ClientGoneError: The client is gone; ``work`` has ended by then.
        CutError: ``cut`` was set; ``work`` has ended by then.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(receive))
    cutting = asyncio.ensure_future(cut.wait())
    waiting: set[asyncio.Future[Any]] = {task, gone, cutting}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientGoneError if gone.done() else CutError
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Server-sent events that stop, and close their generator, with their client.

    Args:
        events: Generator of ready-made events. It is closed in any case, so its
            generation is aborted at once rather than when it is collected.
        flights: The app's requests in flight; when they are cut, the stream ends with
            an error event, as it does when its generator fails.
        shape: How the API writes that event.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncGenerator[str, None],
        flights: Flights,
        shape: Shape = OPENAI,
    ) -> None:
        super().__init__(events)
        self._events = events
        self._flights = flights
        self._shape = shape
        self._started = False
        self._era = flights.begin()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end, the client is gone, or all has to end."""
        del scope
        try:
            with suppress(ClientGoneError, OSError):
                await self._send_events(receive, send)
        finally:
            self._flights.end(self._era)
        if self.background is not None:
            await self.background()

    async def _send_events(self, receive: Receive, send: Send) -> None:
        async def noting(message: Message) -> None:
            self._started = True
            self._shape.sent(message.get("body", b""))
            await send(message)

        problem: Error | None = None
        try:
            await until_ended(self.stream_response(noting), receive, self._flights.cut)
        except CutError:
            problem = unavailability(SHUTTING_DOWN)
        except (ClientGoneError, OSError):
            raise
        except Exception as error:
            logger.exception("A stream failed")
            problem = error_content(error)[0]["error"]
        finally:
            await self._events.aclose()
        if problem:
            # A client that has stopped reading must not hold up the end.
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD_S):
                    await self._end_with(problem, send)

    async def _end_with(self, problem: Error, send: Send) -> None:
        if not self._started:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
        last_words = self._shape.last_words(problem)
        await send({"type": "http.response.body", "body": last_words.encode()})
