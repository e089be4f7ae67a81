"""API keys: ``Authorization: Bearer KEY`` on every path that is guarded."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from http import HTTPStatus

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import error_response

REFUSAL = "Incorrect or missing API key: send it as 'Authorization: Bearer KEY'."
POLICY_VIOLATION = 1008


class AuthenticationMiddleware:
    """Answers 401, in OpenAI's shape, to a request without one of the keys.

    Args:
        app: What is guarded.
        api_keys: The keys; they are compared in constant time.
        is_open: Whether a path needs no key; the path is without the root path.

    Source:
        vllm/entrypoints/serve/middleware/authenticate.py (0.32.0), which guards four
        prefixes; ``OPTIONS`` needs no key there either, or browsers could not ask.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        api_keys: Sequence[SecretStr],
        is_open: Callable[[str], bool],
    ) -> None:
        self._app = app
        # The environment's bytes, also where they are no UTF-8.
        keys = (key.get_secret_value() for key in api_keys)
        sent = [key.encode("utf-8", "surrogateescape") for key in keys]
        self._digests = [_digest(key) for key in sent]
        self._is_open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if not self._wants_key(scope) or self._has_key(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            refusal = error_response(
                REFUSAL,
                HTTPStatus.UNAUTHORIZED,
                kind="AuthenticationError",
                headers={"WWW-Authenticate": "Bearer"},
            )
            await refusal(scope, receive, send)

    def _wants_key(self, scope: Scope) -> bool:
        if scope["type"] not in {"http", "websocket"}:
            return False
        if scope.get("method") == "OPTIONS":
            return False
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return not self._is_open(path)

    def _has_key(self, scope: Scope) -> bool:
        header = Headers(scope=scope).get("authorization", "")
        scheme, _, key = header.partition(" ")
        given = _digest(key.strip().encode("latin-1"))
        # Every key is looked at, so the time tells nothing of which one came close.
        found = [secrets.compare_digest(given, digest) for digest in self._digests]
        return scheme.lower() == "bearer" and any(found)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
