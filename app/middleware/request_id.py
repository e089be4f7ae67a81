"""``X-Request-Id`` on every answer."""

from __future__ import annotations

import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from containers.request_record import current_request

HEADER = "X-Request-Id"


class RequestIdMiddleware:
    """Puts the request's own ``X-Request-Id``, or a new one, on its answer.

    Args:
        app: What answers.

    Source:
        vllm/entrypoints/serve/middleware/x_request_id.py (0.32.0).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its answer back with the header."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = current_request.get()
        new = record.request_id if record else uuid.uuid4().hex
        request_id = Headers(scope=scope).get(HEADER) or new

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault(HEADER, request_id)
            await send(message)

        await self._app(scope, receive, send_with_id)
