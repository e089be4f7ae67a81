"""Requests that only the process that owns the engine answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing, suppress
from http import HTTPStatus

from starlette.requests import ClientDisconnect, Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import SHUTTING_DOWN, error_response, unavailable
from app.exchange import Asked
from app.flights import Flights
from app.frontends.channel import Channel, ChannelClosedError, RefusedError
from app.middleware import ADMIN
from app.middleware.paths import routed_path
from app.while_wanted import ClientGoneError, WhileWanted

TAGS = frozenset({ADMIN, "probes", "metrics", "load", "status page"})
"""Tags of routes that concern the whole server."""

LONGEST_BODY = 1024 * 1024
"""Bytes that an administrator's request may have."""
READ_ON_S = 12.0
"""Seconds that whoever asked has to take a part of the answer before it is given up."""
BODY_S = 30.0
"""Seconds such a body may take, for nobody has asked for its key yet."""
TOO_SLOW = "The body did not come in time."
TOO_LONG = "The body is too long for a request about the server itself."


class OwnedPaths:
    """Tells by its path whether a request is one for the owner.

    Args:
        routes: The routes of an app of ours.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        paths = {
            str(getattr(route, "path", ""))
            for route in routes
            if TAGS & {*getattr(route, "tags", ())}
        }
        self._paths = frozenset(path for path in paths if "{" not in path)
        self._folders = tuple(path.partition("{")[0] for path in paths if "{" in path)

    def has(self, path: str) -> bool:
        """Whether a path, as routes see it, is one of them."""
        return path in self._paths or path.startswith(self._folders)


class OwnedRoutes:
    """An ASGI app around a front end's own: what is the owner's, it asks the owner.

    Args:
        app: The front end's app.
        owner: The way to the owner.
        paths: The owner's paths.
    """

    def __init__(self, app: ASGIApp, owner: Channel, paths: OwnedPaths) -> None:
        self._app = app
        self._owner = owner
        self._paths = paths
        self._uncut = Flights()  # what the owner answers, it ends by itself

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or have it answered."""
        if scope["type"] != "http" or not self._paths.has(routed_path(scope)):
            await self._app(scope, receive, send)
            return
        refusal = error_response(TOO_LONG, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        asked = None
        try:
            async with asyncio.timeout(BODY_S):
                asked = await _asked(scope, receive)
        except ClientDisconnect:
            return
        except TimeoutError:
            refusal = error_response(TOO_SLOW, HTTPStatus.REQUEST_TIMEOUT)
        if asked is None:
            await refusal(scope, receive, send)
            return
        with suppress(ClientGoneError):
            async with WhileWanted(receive, self._uncut):
                await self._pass_on(asked, scope, receive, send)

    async def _pass_on(
        self, asked: Asked, scope: Scope, receive: Receive, send: Send
    ) -> None:
        is_begun = False
        try:
            async with aclosing(self._owner.stream("answer", asked)) as parts:
                async for status, headers, body, is_whole in parts:
                    if status:
                        is_begun = True
                        start = {"type": "http.response.start", "status": status}
                        await _sent(send, {**start, "headers": headers})
                    more = {"type": "http.response.body", "more_body": not is_whole}
                    await _sent(send, {**more, "body": body})
        except TimeoutError:  # the connection is closed, as for any broken answer
            return
        except (ChannelClosedError, RefusedError):
            if is_begun:
                raise
            await unavailable(SHUTTING_DOWN)(scope, receive, send)


async def _asked(scope: Scope, receive: Receive) -> Asked | None:
    """The request, its body read; ``None`` if that is too long."""
    body = b""
    async for chunk in Request(scope, receive).stream():
        body += chunk
        if len(body) > LONGEST_BODY:
            return None
    return Asked.of(scope, body)


async def _sent(send: Send, message: Message) -> None:
    async with asyncio.timeout(READ_ON_S):
        await send(message)
