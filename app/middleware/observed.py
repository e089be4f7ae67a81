"""A record of each request and each session, for whoever watches."""

from __future__ import annotations

from collections.abc import Awaitable
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.middleware.observation import Observation
from app.middleware.session import Session
from containers.request_record import RequestRecord, current_request

EVENT_STREAM = b"text/event-stream"


class ObservationMiddleware:
    """Keeps a request's record while it is answered, and notes what is sent.

    A session over a WebSocket is told once too, when it is over.

    To send a message costs a function call more than without, and no coroutine.

    Args:
        app: What answers.
        observation: Who watches.
    """

    def __init__(self, app: ASGIApp, *, observation: Observation) -> None:
        self._app = app
        self._observation = observation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and tell its beginning and its end."""
        if scope["type"] == "http":
            await self._observe(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._observe_session(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _observe_session(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        record = self._observation.begin(scope)
        token = current_request.set(record)
        try:
            await Session(record, scope, receive, send).run(self._app)
        finally:
            self._observation.end(record, scope)  # while its lines are the session's
            current_request.reset(token)

    async def _observe(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = self._observation.begin(scope)

        def send_noted(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.body":
                if not message.get("more_body", False):
                    record.is_whole = True
            elif message["type"] == "http.response.start":
                _note_start(record, message)
            return send(message)

        token = current_request.set(record)
        try:
            await self._app(scope, receive, send_noted)
        except BaseException:
            record.status = record.status or HTTPStatus.INTERNAL_SERVER_ERROR
            raise
        finally:
            self._observation.end(record, scope)  # while its lines are the request's
            current_request.reset(token)


def _note_start(record: RequestRecord, message: Message) -> None:
    record.status = message["status"]
    record.is_stream = any(
        name.lower() == b"content-type" and value.startswith(EVENT_STREAM)
        for name, value in message.get("headers", ())
    )
