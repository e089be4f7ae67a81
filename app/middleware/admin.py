"""Admin keys: who may do what concerns the server itself."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.middleware.keys import Keys
from app.middleware.refusals import forbidden, refuse, unauthorized


class AdminMiddleware:
    """Lets only admin keys through: 403 for other keys, 401 without one.

    Args:
        app: What is guarded.
        keys: The keys.
    """

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        caller = self._keys.caller(Headers(scope=scope))
        if caller is None:
            await refuse(unauthorized(), scope, receive, send)
        elif not caller.is_admin:
            await refuse(forbidden(), scope, receive, send)
        else:
            await self._app(scope, receive, send)
