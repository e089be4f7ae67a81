"""Comment lines that keep an idle stream of events open."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Message, Send

from containers.registry.awaited import COMMENT


class KeepAlive:
    """Sends a comment whenever nothing has been sent for a while.

    Proxies close a connection on which nothing is sent while a request waits or its
    prompt is read; clients skip comments. An event costs no task and no timer: one
    timer a stream looks when the last one was sent, and a comment is never sent while
    something else is.

    Args:
        send: ASGI's ``send`` of a response that has begun.
        interval_s: Seconds without an event, above 0.

    Source:
        vllm/entrypoints/serve/utils/sse_keep_alive.py (0.32.0).
    """

    def __init__(self, send: Send, *, interval_s: float) -> None:
        self._send = send
        self._interval_s = interval_s
        self._is_sending = False
        self._comment: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._last_s = self._loop.time()
        self._timer = self._loop.call_later(self._interval_s, self._look)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._comment is not None:
            self._comment.cancel()
            await asyncio.gather(self._comment, return_exceptions=True)

    async def send(self, message: Message) -> None:
        """Send an event, after a comment that is on its way."""
        self._is_sending = True
        try:
            if self._comment is not None:
                await self._comment
                self._comment = None
            await self._send(message)
        finally:
            self._last_s = self._loop.time()
            self._is_sending = False

    def _look(self) -> None:
        due_s = self._last_s + self._interval_s
        if due_s <= self._loop.time():
            due_s = self._loop.time() + self._interval_s
            if not self._is_sending and (self._comment is None or self._comment.done()):
                self._comment = asyncio.create_task(self._say())
        self._timer = self._loop.call_at(due_s, self._look)

    async def _say(self) -> None:
        body = COMMENT.encode()
        message = {"type": "http.response.body", "body": body, "more_body": True}
        await self._send(message)
