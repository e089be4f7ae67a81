"""What a WebSocket is told: Ray Serve carries a request, and no conversation."""

from __future__ import annotations

from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from app.errors import error_response
from app.middleware.refusals import refuse

MESSAGE = "Realtime sessions are not served with Ray; ask a server of vllm-di's own."


async def refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse the handshake with 501, in OpenAI's shape."""
    await receive()
    response = error_response(MESSAGE, HTTPStatus.NOT_IMPLEMENTED)
    await refuse(response, scope, receive, send)
