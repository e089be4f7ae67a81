"""API keys: who may ask at all, and how often."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.middleware.allowance import LimitReachedError
from app.middleware.keys import Caller, Keys
from app.middleware.refusals import refuse, too_many, unauthorized

CALLER = "vllm_di.caller"
"""Where a request's scope says whose key it bears: the key's name."""


class AuthenticationMiddleware:
    """Answers 401 to a request without a right key, 429 to one too many with it.

    Args:
        app: What is guarded.
        keys: The keys.
        is_open: Whether a request needs no key, by its scope; by default each does.

    Source:
        vllm/entrypoints/serve/middleware/authenticate.py (0.32.0), which guards four
        prefixes; ``OPTIONS`` needs no key there either, or browsers could not ask.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        keys: Keys,
        is_open: Callable[[Scope], bool] = lambda _: False,
    ) -> None:
        self._app = app
        self._keys = keys
        self._is_open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if not is_asked(scope) or self._is_open(scope):
            await self._app(scope, receive, send)
            return
        caller = self._keys.caller(Headers(scope=scope))
        if caller is None:
            await refuse(unauthorized(), scope, receive, send)
            return
        scope[CALLER] = caller.name
        await self._pass_on(caller, scope, receive, send)

    async def _pass_on(
        self, caller: Caller, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if caller.allowance is None:
            await self._app(scope, receive, send)
            return
        try:
            caller.allowance.begin()
        except LimitReachedError as error:
            await refuse(too_many(error), scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            caller.allowance.end()


def is_asked(scope: Scope) -> bool:
    """Whether it is a request, other than what a browser asks before its own."""
    return scope["type"] in {"http", "websocket"} and scope.get("method") != "OPTIONS"
