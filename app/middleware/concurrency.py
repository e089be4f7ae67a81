"""How many requests are answered at the same time."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import unavailable
from app.middleware.refusals import refuse

BUSY = "The server answers as many requests as it may; try again later, or another one."


class Slots:
    """Room for so many requests at a time, on one event loop.

    Args:
        n: How many, 1 or more.

    Attributes:
        n: The same; it may be set anew while some are taken.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._n_taken = 0

    def take(self) -> bool:
        """Take one; whether there was one."""
        if self._n_taken >= self.n:
            return False
        self._n_taken += 1
        return True

    def give_back(self) -> None:
        """Give one back."""
        self._n_taken -= 1


class ConcurrencyMiddleware:
    """Answers 503 with ``Retry-After`` to a request for which there is no room.

    Args:
        app: What answers.
        slots: The room, shared by all routes it is meant for.
    """

    def __init__(self, app: ASGIApp, *, slots: Slots) -> None:
        self._app = app
        self._slots = slots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if not self._slots.take():
            await refuse(unavailable(BUSY), scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._slots.give_back()
