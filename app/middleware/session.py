"""What is noted of a session over a WebSocket while it goes on."""

from __future__ import annotations

from collections.abc import Awaitable
from http import HTTPStatus

from starlette.status import (
    WS_1000_NORMAL_CLOSURE,
    WS_1005_NO_STATUS_RCVD,
    WS_1006_ABNORMAL_CLOSURE,
    WS_1011_INTERNAL_ERROR,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.middleware.paths import route_of
from containers.request_record import RequestRecord

METHOD = "GET"
"""Of the handshake, which is an HTTP request."""


class Session:
    """Notes how a handshake ends, and who closed the session with which code.

    Args:
        record: What is noted.
        scope: ASGI's, in which its route will be.
        receive: ASGI's.
        send: ASGI's.
    """

    def __init__(
        self, record: RequestRecord, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._record = record
        self._scope = scope
        self._receive = receive
        self._send = send

    async def run(self, app: ASGIApp) -> None:
        """Have an app serve it."""
        try:
            await app(self._scope, self._receive_noted, self._send_noted)
        except BaseException:
            self._close(WS_1011_INTERNAL_ERROR, HTTPStatus.INTERNAL_SERVER_ERROR)
            raise
        self._close(WS_1006_ABNORMAL_CLOSURE, HTTPStatus.FORBIDDEN)

    async def _receive_noted(self) -> Message:
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            self._close(message.get("code") or WS_1005_NO_STATUS_RCVD)
        return message

    def _send_noted(self, message: Message) -> Awaitable[None]:
        if message["type"] == "websocket.accept":
            self._record.status = HTTPStatus.SWITCHING_PROTOCOLS
            self._record.route = route_of(self._scope)
        elif message["type"] == "websocket.http.response.start":
            self._record.status = message["status"]
        elif message["type"] == "websocket.close":
            self._close(message.get("code") or WS_1000_NORMAL_CLOSURE)
        return self._send(message)

    def _close(self, code: int, refusal: int = HTTPStatus.FORBIDDEN) -> None:
        """Note the first reason; before the handshake is over, that it was refused."""
        record = self._record
        record.is_whole = True
        record.status = record.status or refusal
        if record.is_session and record.close_code is None:
            record.close_code = code
