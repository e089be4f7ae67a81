"""A client's side of an answer that comes in parts from a replica."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Send

from app.answers import LAST_WORD_S
from app.errors import reshaped
from app.exchange import Headers, Part
from app.middleware.time_limit import EVENT_STREAM
from app.shapes import OPENAI, ChatV2Shape, MessagesShape, ResponsesShape, Shape

_NUMBER = re.compile(rb'"sequence_number":\s*(\d+)')


class PassedResponsesShape(ResponsesShape):
    """That of events which somebody else has numbered."""

    def sent(self, event: bytes) -> None:
        """Take note of the last number in some events."""
        if numbers := _NUMBER.findall(event):
            self._next_number = int(numbers[-1]) + 1


def shape_of(path: str, request: Request) -> Shape:
    """How the API of a route writes errors."""
    if path.startswith("/v1/messages") and not path.endswith("/render"):
        return MessagesShape()
    if path.startswith("/v1/responses"):
        return PassedResponsesShape()
    if path.startswith("/cohere/"):
        return ChatV2Shape(request)
    return OPENAI


class Answer:
    """Sends parts as they come; what fails later becomes an error of the API's own.

    Args:
        send: ASGI's ``send``.
        shape: How the API writes errors.
    """

    def __init__(self, send: Send, shape: Shape) -> None:
        self._send = send
        self._shape = shape
        self._is_begun = self._is_stream = self._is_whole = False

    async def pass_on(self, part: Part) -> None:
        """Send a part."""
        status, headers, body, self._is_whole = part
        if status:
            await self._begin(status, headers)
        if body or self._is_whole:
            self._shape.sent(body)
            more = not self._is_whole
            await self._send(
                {"type": "http.response.body", "body": body, "more_body": more}
            )

    async def end(self, refusal: JSONResponse) -> None:
        """Tell what has failed: as the answer, or as the last event of a stream.

        Raises:
            RuntimeError: Half of an answer that is no stream is out; its connection is
                to be broken off.
        """
        # A client that has stopped reading must not hold up the end.
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORD_S):
                await self._end(refusal)

    async def _end(self, refusal: JSONResponse) -> None:
        if self._is_whole:
            return
        if not self._is_begun:
            response = reshaped(refusal, self._shape)
            await self._begin(response.status_code, response.raw_headers)
            await self._send(
                {"type": "http.response.body", "body": bytes(response.body)}
            )
        elif self._is_stream:
            error = json.loads(bytes(refusal.body))["error"]
            words = self._shape.last_words(error).encode()
            await self._send({"type": "http.response.body", "body": words})
        else:
            raise RuntimeError("an answer was broken off")

    async def _begin(self, status: int, headers: Headers) -> None:
        self._is_begun = True
        kinds = [value for key, value in headers if key.lower() == b"content-type"]
        self._is_stream = any(kind.startswith(EVENT_STREAM) for kind in kinds)
        await self._send(
            {"type": "http.response.start", "status": status, "headers": headers}
        )
