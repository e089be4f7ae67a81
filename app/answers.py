"""What serving objects return, as HTTP responses that end when their client goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import suppress
from typing import Any

from fastapi import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.errors import (
    CLIENT_CLOSED_REQUEST,
    SHUTTING_DOWN,
    told,
    unavailability,
    unavailable,
)
from app.flights import Flights
from app.json_response import JsonAnswer
from app.keep_alive import KeepAlive
from app.load_metrics import load_headers
from app.service import service_of
from app.shapes import OPENAI, SHAPE, Error, Shape
from app.shared_writes import Rounds, SharedWrites
from app.while_wanted import ClientGoneError, CutError, WhileWanted
from containers.vllm_api.error_response import error_content

logger = logging.getLogger(__name__)

LAST_WORD_S = 0.5
"""Seconds a client has to take the last event of a stream that is cut."""


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
    service = service_of(request)
    flights = service.flights
    try:
        with flights.one():
            async with WhileWanted(request.receive, flights):
                result = await work
            if isinstance(result, AsyncGenerator):
                # Its flight begins before this one ends: a drain must not see none.
                return EventStream(
                    shape.events(result),
                    flights,
                    shape,
                    keep_alive_interval_s=service.sse_keep_alive_interval_s,
                    rounds=service.rounds,
                )
    except ClientGoneError:
        return Response(status_code=CLIENT_CLOSED_REQUEST)
    except CutError:
        return unavailable(SHUTTING_DOWN, shape)
    if isinstance(result, Response):
        return result
    status = _status_of(result)
    if status is not None:
        content = shape.error(told(result.model_dump()["error"]))
        return JsonAnswer(content, status_code=status)
    headers = load_headers(request) if reports_load else None
    return JsonAnswer(shape.content(result), headers=headers)


def _status_of(result: Any) -> int | None:
    """HTTP status of vLLM's ``ErrorResponse``; ``None`` of anything else.

    pydantic takes long to say that a model has no such field.
    """
    error = getattr(result, "__dict__", {}).get("error")
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else None


class EventStream(StreamingResponse):
    """Server-sent events that stop, and close their generator, with their client.

    Args:
        events: Generator of ready-made events. It is closed in any case, so its
            generation is aborted at once rather than when it is collected.
        flights: The app's requests in flight; when they are cut, the stream ends with
            an error event, as it does when its generator fails.
        shape: How the API writes that event.
        keep_alive_interval_s: Seconds of silence after which a comment is sent; 0 for
            never.
        rounds: Those of the event loop, where events may share a write.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncGenerator[str | bytes, None],
        flights: Flights,
        shape: Shape = OPENAI,
        *,
        keep_alive_interval_s: float = 0,
        rounds: Rounds | None = None,
    ) -> None:
        super().__init__(events)
        self._events = events
        self._flights = flights
        self._shape = shape
        self._keep_alive_interval_s = keep_alive_interval_s
        self._rounds = rounds
        self._writes: SharedWrites | None = None
        self._started = False
        self._flight = flights.begin()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end, the client is gone, or all has to end."""
        del scope
        with self._flights.one(self._flight), suppress(ClientGoneError, OSError):
            # Each event goes through all that awaits it. A task of its own is short of
            # the middleware, and is cancelled with the task that waits for it.
            sending = asyncio.create_task(self._send_while_wanted(receive, send))
            try:
                await sending
            finally:
                await self._events.aclose()  # one cancelled before it began did not
        if self.background is not None:
            await self.background()

    async def _send_while_wanted(self, receive: Receive, send: Send) -> None:
        problem: Error | None = None
        try:
            async with WhileWanted(receive, self._flights):
                await self._start(send)
                await self._send_kept_alive(send)
        except CutError:
            problem = unavailability(SHUTTING_DOWN)
        except (ClientGoneError, OSError):
            raise
        except Exception as error:
            logger.exception("A stream failed")
            problem = told(error_content(error)[0]["error"])
        finally:
            await self._events.aclose()
        if problem:
            # A client that has stopped reading must not hold up the end.
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD_S):
                    await self._end_with(problem, send)

    async def _start(self, send: Send) -> None:
        self._started = True
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )

    async def _send_kept_alive(self, send: Send) -> None:
        if not self._keep_alive_interval_s:
            await self._send_events(send)
            return
        async with KeepAlive(send, interval_s=self._keep_alive_interval_s) as kept:
            await self._send_events(kept.send)

    async def _send_events(self, send: Send) -> None:
        """Send event by event, in this very task; a slow reader holds them up."""
        writes = SharedWrites(send, self._shape.sent, self._rounds)
        self._writes = writes
        async with writes:
            async for event in self._events:
                body = event.encode() if isinstance(event, str) else event
                await writes.send(body)
            await writes.end()

    async def _end_with(self, problem: Error, send: Send) -> None:
        if not self._started:
            await self._start(send)
        left = self._writes.left() if self._writes else b""
        last_words = self._shape.last_words(problem).encode()
        await send({"type": "http.response.body", "body": left + last_words})
