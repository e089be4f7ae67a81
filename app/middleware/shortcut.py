"""A shorter way to routes that need nothing of what lies before them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.routing import APIRoute, APIRouter, APIWebSocketRoute
from starlette.exceptions import HTTPException, WebSocketException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import BaseRoute, Match, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import ServingRoute
from app.middleware.paths import routed_path
from containers.errors import ServingError

METHOD = "POST"
"""Method of the requests that are worth it."""

_OURS = {
    HTTPException,
    RequestValidationError,
    ServingError,
    WebSocketException,
    WebSocketRequestValidationError,
}
"""Errors a route of ours answers by itself, and those of WebSockets."""

_BY_PATH = {
    each.matches for each in (APIRoute, APIWebSocketRoute, Mount, Route, WebSocketRoute)
}
"""How routes match that look at nothing but the path and the method."""


class ShortcutMiddleware:
    """Calls the route of a request directly, where the long way does nothing else.

    The long way catches errors, keeps files of forms, and tries the app's routes one
    by one; a direct route of ours answers every error by itself and has no forms. It
    is taken whenever a host's handlers, overrides or routes may have a say.

    Args:
        app: The long way: what the host's app has inside of all middleware.
        host: The app.
        routes: Our routes in it, their limits set before them.
    """

    def __init__(
        self, app: ASGIApp, *, host: FastAPI, routes: Iterable[BaseRoute]
    ) -> None:
        self._app = app
        self._host = host
        self._is_innermost = isinstance(app, ExceptionMiddleware)
        self._direct = {
            route.path: route
            for route in routes
            if isinstance(route, ServingRoute)
            and route.is_direct
            and route.methods == {METHOD}
        }
        self._of_routes: list[BaseRoute] = []
        self._found: dict[str, ServingRoute | None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Go straight to the route, or the long way."""
        route = None
        if scope["type"] == "http" and scope["method"] == METHOD:
            route = self._route_of(scope)
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["router"], scope["route"] = self._host.router, route
        scope["endpoint"], scope["path_params"] = route.endpoint, {}
        await route.app(scope, receive, send)

    def _route_of(self, scope: Scope) -> ServingRoute | None:
        path = routed_path(scope)
        host = self._host
        if path not in self._direct or host.dependency_overrides:
            return None
        if not host.exception_handlers.keys() <= _OURS or "path_params" in scope:
            return None
        if host.router.routes != self._of_routes:
            self._of_routes = [*host.router.routes]
            self._found = {}
        if path not in self._found:
            self._found[path] = self._looked_up(scope, self._direct[path])
        return self._found[path]

    def _looked_up(self, scope: Scope, ours: ServingRoute) -> ServingRoute | None:
        """Our route, unless another would be asked before it."""
        router = self._host.router
        is_plain = type(router) is APIRouter and router.middleware_stack == router.app
        if not self._is_innermost or not is_plain:
            return None
        for route in self._of_routes:
            if type(route).matches not in _BY_PATH and route is not ours:
                return None
            if route.matches(scope)[0] is Match.FULL:
                return ours if route is ours else None
        return None


def add_shortcut(host: FastAPI, routes: Iterable[BaseRoute]) -> None:
    """Give an app the shorter way to our routes, inside of all its middleware."""
    arguments: dict[str, Any] = {"host": host, "routes": [*routes]}
    host.user_middleware.append(Middleware(ShortcutMiddleware, **arguments))
