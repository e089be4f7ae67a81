"""A request and its answer, as they travel between processes of one server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from starlette.types import ASGIApp, Message, Scope

from app.middleware.paths import routed_path

Headers = list[tuple[bytes, bytes]]
Part = tuple[int, Headers, bytes, bool]
"""Status and headers, both empty after the first part; bytes; whether that is all."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One HTTP request, its body read.

    Attributes:
        method: HTTP method.
        path: Path as routes see it.
        query: Query string.
        headers: Its headers, names in lower case.
        body: Its whole body.
    """

    method: str
    path: str
    query: bytes
    headers: Headers
    body: bytes

    @classmethod
    def of(cls, scope: Scope, body: bytes) -> Self:
        """The request of an ASGI scope.

        Args:
            scope: ASGI's scope of it.
            body: Its whole body.
        """
        return cls(
            method=scope["method"],
            path=routed_path(scope),
            query=scope["query_string"],
            headers=[(bytes(key), bytes(value)) for key, value in scope["headers"]],
            body=body,
        )

    @property
    def scope(self) -> dict[str, Any]:
        """ASGI's scope of it."""
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode("utf-8", "surrogateescape"),
            "root_path": "",
            "query_string": self.query,
            "headers": self.headers,
            "client": None,
            "server": None,
        }


class Exchange:
    """An app's answer to one request, part by part.

    A part holds what the app has sent since the last one was taken: nothing waits for
    more, and nothing is sent by itself that could go along.

    Args:
        app: The app.
        asked: The request.
    """

    def __init__(self, app: ASGIApp, asked: Asked) -> None:
        self._app = app
        self._asked = asked
        self._body: bytes | None = asked.body
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self._status = 0
        self._headers: Headers = []
        self._chunks: list[bytes] = []
        self._is_whole = False

    async def parts(self) -> AsyncGenerator[Part, None]:
        """Parts of the answer; to close the generator early ends the request.

        Raises:
            Exception: What the app raised, if it had not answered.
        """
        task = asyncio.create_task(self._run())
        try:
            is_last = False
            while not is_last:
                await self._news.wait()
                self._news.clear()
                part = self._taken()
                is_last = part[3]
                yield part
            await task
        finally:
            self._gone.set()
            if not task.done():
                await asyncio.wait({task}, timeout=1.0)
            if task.cancel():
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _run(self) -> None:
        try:
            await self._app(self._asked.scope, self._receive, self._send)
        finally:
            self._is_whole = True
            self._news.set()

    def _taken(self) -> Part:
        body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        part = (self._status, self._headers, body, self._is_whole)
        self._status, self._headers, self._chunks = 0, [], []
        return part

    async def _receive(self) -> Message:
        if self._body is None:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = [(bytes(k), bytes(v)) for k, v in message["headers"]]
        elif message["type"] == "http.response.body":
            if body := message.get("body", b""):
                self._chunks.append(body)
            self._is_whole = not message.get("more_body", False)
        self._news.set()
