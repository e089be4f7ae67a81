"""HTTP requests to an app in process, answered as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from starlette.types import ASGIApp

from containers.testing.http.exchange import LEAVE_TIMEOUT_S, Exchange
from containers.testing.http.lifespan import Lifespan
from containers.testing.http.own_loop import OwnLoop


class AppTransport(httpx.AsyncBaseTransport):
    """An httpx transport whose app starts at the first request.

    The app and its lifespan run on a loop of their own. Answers stream as the app
    sends them; a client that leaves is a disconnect; what the app raises is raised.

    Args:
        app: Any ASGI app.
        loop: Where it runs.
        before_request: Called before each request is sent, ``True`` for the first one.
    """

    def __init__(
        self,
        app: ASGIApp,
        loop: OwnLoop,
        *,
        before_request: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self._app = app
        self._loop = loop
        self._before_request = before_request
        self._lifespan = Lifespan(app)
        self._waiting: set[asyncio.Task[Any]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Start the app if need be, send a request, and wait for the answer's head."""
        self._before_request(not self._lifespan.is_begun)
        body = await request.aread()
        try:
            exchange, status, headers = await self._there(self._send(request, body))
        except asyncio.CancelledError:
            await self._there(self._let_go())
            raise
        stream = _Body(exchange, self._there)
        return httpx.Response(status, headers=headers, stream=stream)

    def stop(self) -> None:
        """End the app's lifespan; blocks until it has ended.

        Raises:
            Exception: What it failed with.
        """
        self._loop.run(self._lifespan.stop())

    async def _send(self, request: httpx.Request, body: bytes) -> tuple[Any, ...]:
        self._note(asyncio.current_task())
        await self._lifespan.start()
        exchange = Exchange(self._app, _scope(request, self._lifespan.state), body)
        try:
            return exchange, *await exchange.head()
        except BaseException:
            await exchange.abandon()
            raise

    def _note(self, task: asyncio.Task[Any] | None) -> None:
        if task is not None:
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)

    async def _let_go(self) -> None:
        """Wait until the app has noticed whose clients no longer wait for an answer."""
        if left := [task for task in self._waiting if task.cancelling()]:
            await asyncio.wait(left, timeout=LEAVE_TIMEOUT_S)

    async def _there(self, work: Any) -> Any:
        return await asyncio.wrap_future(self._loop.submit(work))


class _Body(httpx.AsyncByteStream):
    """An answer's body, as it comes."""

    def __init__(self, exchange: Exchange, there: Any) -> None:
        self._exchange = exchange
        self._there = there

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (part := await self._there(self._exchange.part())) is not None:
            yield part

    async def aclose(self) -> None:
        if not self._exchange.is_over:
            await self._there(self._exchange.leave())


def _scope(request: httpx.Request, state: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 123),
        "root_path": "",
        "state": dict(state),
    }
