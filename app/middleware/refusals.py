"""What a request is told that may not go on, in OpenAI's shape."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from app.errors import error_response
from app.middleware.allowance import LimitReachedError

POLICY_VIOLATION = 1008
DENIAL = "websocket.http.response"


def unauthorized() -> JSONResponse:
    """401: no key, or a wrong one."""
    return error_response(
        "Incorrect or missing API key: send it as 'Authorization: Bearer KEY'.",
        HTTPStatus.UNAUTHORIZED,
        kind="AuthenticationError",
        headers={"WWW-Authenticate": "Bearer"},
    )


def forbidden() -> JSONResponse:
    """403: a right key, but no admin key."""
    return error_response(
        "This needs an admin key.", HTTPStatus.FORBIDDEN, kind="PermissionDeniedError"
    )


def too_many(error: LimitReachedError) -> JSONResponse:
    """429: one too many with this key."""
    return error_response(
        error.message,
        HTTPStatus.TOO_MANY_REQUESTS,
        kind="RateLimitError",
        headers={"Retry-After": str(error.retry_after_s)},
    )


async def refuse(
    response: JSONResponse, scope: Scope, receive: Receive, send: Send
) -> None:
    """Send a refusal, whether it is HTTP that was asked for or a WebSocket."""
    if scope["type"] == "http" or DENIAL in scope.get("extensions", {}):
        await response(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": POLICY_VIOLATION})
