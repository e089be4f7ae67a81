"""How long a request may take from its arrival to the end of its answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.shapes import OPENAI, SHAPE, Error, Shape

LAST_WORD_S = 0.5
"""Seconds a client has to take the last event of a stream that is ended."""

EVENT_STREAM = b"text/event-stream"


class TimeLimitMiddleware:
    """Ends a request that takes too long, and with it its generation.

    One that has no answer yet is answered 504, a stream ends with an error event; both
    as the API writes errors. Any other answer is broken off with its connection.

    Args:
        app: What answers.
        timeout_s: Seconds, above 0.
    """

    def __init__(self, app: ASGIApp, *, timeout_s: float) -> None:
        self._app = app
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, until its time is up."""
        answer = _Answer(send)
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                answer.limit = limit
                await self._app(scope, receive, answer.send)
        except TimeoutError:
            if not limit.expired():
                raise
            # A client that has stopped reading must not hold up the end.
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD_S):
                    await self._end(answer, scope, receive, send)

    async def _end(
        self, answer: _Answer, scope: Scope, receive: Receive, send: Send
    ) -> None:
        shape: Shape = scope.get(SHAPE, OPENAI)
        if not answer.is_begun:
            response = JSONResponse(
                shape.error(self._error()), status_code=HTTPStatus.GATEWAY_TIMEOUT
            )
            await response(scope, receive, send)
        elif answer.is_stream:
            body = shape.last_words(self._error()).encode()
            await send({"type": "http.response.body", "body": body})

    def _error(self) -> Error:
        return {
            "message": f"The request took longer than {self._timeout_s:g} s.",
            "type": "TimeoutError",
            "param": None,
            "code": int(HTTPStatus.GATEWAY_TIMEOUT),
        }


class _Answer:
    limit: asyncio.Timeout

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False
        self.is_stream = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            kinds = [v for k, v in message["headers"] if k.lower() == b"content-type"]
            self.is_stream = any(kind.startswith(EVENT_STREAM) for kind in kinds)
        await self._send(message)
        is_last = message["type"] == "http.response.body" and not message.get(
            "more_body", False
        )
        if is_last and not self.limit.expired():
            self.limit.reschedule(None)
