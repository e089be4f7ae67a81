"""How large a request's body may be, and how long it may take to come."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import http_response
from app.headers import header

CLOSE = {"Connection": "close"}
"""The rest of a refused body is not read, so nothing can follow on its connection."""


class BodyMiddleware:
    """Ends a request whose body is too large (413) or too slow (408).

    A body whose length is told is refused before it is read; any other is counted as it
    comes, so that an endless one holds neither memory nor time.

    Args:
        app: What reads the body; it answers ``HTTPException`` in OpenAI's shape.
        max_bytes: Bytes a body may have; ``None`` for any number.
        timeout_s: Seconds it may take in whole; ``None`` for any number.
    """

    def __init__(
        self, app: ASGIApp, *, max_bytes: int | None, timeout_s: float | None
    ) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body bounded, or refuse it."""
        length = header(scope, b"content-length")
        max_bytes = self._max_bytes
        if max_bytes is not None and length.isdigit() and int(length) > max_bytes:
            await http_response(_too_large(max_bytes))(scope, receive, send)
            return
        body = _Body(receive, max_bytes, self._timeout_s)
        await self._app(scope, body.receive, send)


class _Body:
    def __init__(
        self, receive: Receive, max_bytes: int | None, timeout_s: float | None
    ) -> None:
        self._receive = receive
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s
        self._n_bytes = 0
        self._is_over = False
        loop = asyncio.get_running_loop()
        self._deadline = None if timeout_s is None else loop.time() + timeout_s

    async def receive(self) -> Message:
        if self._is_over:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise _too_slow(self._timeout_s) from None
        self._n_bytes += len(message.get("body", b""))
        self._is_over = not message.get("more_body", False)
        if self._max_bytes is not None and self._n_bytes > self._max_bytes:
            raise _too_large(self._max_bytes)
        return message


def _too_large(max_bytes: int) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The request's body is larger than {max_bytes} bytes.",
        CLOSE,
    )


def _too_slow(timeout_s: float | None) -> HTTPException:
    return HTTPException(
        HTTPStatus.REQUEST_TIMEOUT,
        f"The request's body took longer than {timeout_s:g} s.",
        CLOSE,
    )
