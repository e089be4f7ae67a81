"""One request and its answer, on the loop of the app."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message

_AHEAD = 16
"""Parts of an answer the app may send before its reader takes them."""


LEAVE_TIMEOUT_S = 5.0
ABANDON_TIMEOUT_S = 1.0


class Exchange:
    """Runs the app for one request; its answer is taken part by part.

    Args:
        app: The ASGI app, already started.
        scope: ASGI's description of the request.
        body: The request's body.
    """

    def __init__(self, app: ASGIApp, scope: dict[str, Any], body: bytes) -> None:
        self._app = app
        self._scope = scope
        self._body: bytes | None = body
        self._left = asyncio.Event()
        self._sent: asyncio.Queue[Message] = asyncio.Queue(_AHEAD)
        self._task = asyncio.create_task(self._run(), name=f"app {scope['path']}")

    @property
    def is_over(self) -> bool:
        """Whether the app has ended, and nothing is left to take."""
        return self._task.done() and self._sent.empty()

    async def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers.

        Raises:
            Exception: What the app raised before it answered.
        """
        message = await self._next()
        if message is None:
            raise RuntimeError("the app ended without an answer")
        return message["status"], list(message.get("headers", ()))

    async def part(self) -> bytes | None:
        """The next part of the body; ``None`` once the app has ended.

        Raises:
            Exception: What the app raised while it answered.
        """
        message = await self._next()
        if message is None:
            return None
        return b"" if self._scope["method"] == "HEAD" else message.get("body", b"")

    async def leave(self) -> None:
        """Go away, and wait until the app has noticed and ended.

        Raises:
            RuntimeError: It went on all the same, and was cancelled.
        """
        if not await self._left_within(LEAVE_TIMEOUT_S):
            raise RuntimeError(
                f"{self._task.get_name()} went on for {LEAVE_TIMEOUT_S:g} s after its "
                "client had left: let it end when it receives http.disconnect"
            )

    async def abandon(self) -> None:
        """Go away before there was an answer; an app that goes on is cancelled."""
        await self._left_within(ABANDON_TIMEOUT_S)

    async def _left_within(self, timeout_s: float) -> bool:
        self._left.set()
        draining = asyncio.create_task(self._drain())
        await asyncio.wait({self._task}, timeout=timeout_s)
        draining.cancel()
        went_on = self._task.cancel()
        if went_on:
            await asyncio.wait({self._task}, timeout=timeout_s)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # its client has seen it, or is gone
        return not went_on

    async def _drain(self) -> None:
        while True:
            await self._sent.get()

    async def _next(self) -> Message | None:
        sent = asyncio.create_task(self._sent.get())
        try:
            await asyncio.wait({sent, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if sent.done():
                return sent.result()
        finally:
            sent.cancel()
        if not self._sent.empty():
            return self._sent.get_nowait()
        self._task.result()
        return None

    async def _run(self) -> None:
        await self._app(self._scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        await self._sent.put(message)
