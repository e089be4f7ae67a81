"""Which middleware the settings ask for, in which order."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from app.middleware.authentication import AuthenticationMiddleware
from app.middleware.imported import imported_middleware
from app.middleware.request_id import RequestIdMiddleware
from containers.settings import ServerSettings

OPEN = frozenset(
    {"/livez", "/readyz", "/startupz", "/health", "/metrics", "/version", "/load"}
)
"""Paths that need no key: probes and what monitoring reads."""


def add_middleware(app: FastAPI, server: ServerSettings) -> None:
    """Add what the settings ask for to an app of our own, the outermost last.

    Raises:
        SettingsError: A middleware cannot be imported, or is not pure ASGI.
    """
    if server.api_keys is not None:
        docs = (app.openapi_url, app.docs_url, app.redoc_url)
        is_open = OPEN.union(path for path in docs if path).__contains__
        app.add_middleware(
            AuthenticationMiddleware, api_keys=server.api_keys, is_open=is_open
        )
    if server.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=server.allowed_origins,
            allow_methods=server.allowed_methods,
            allow_headers=server.allowed_headers,
            allow_credentials=server.allow_credentials,
        )
    if server.enable_request_id_headers:
        app.add_middleware(RequestIdMiddleware)
    for index, path in enumerate(server.middleware):
        app.add_middleware(imported_middleware(path, index=index))


def authenticate_own_routes(
    app: FastAPI, server: ServerSettings, routes: Iterable[BaseRoute], *, prefix: str
) -> None:
    """Guard our routes in an app of somebody else's, and nothing but them.

    Args:
        app: The host's app.
        server: Server settings.
        routes: Our routes.
        prefix: Path before ours in that app.
    """
    if server.api_keys is None:
        return
    paths = {route.path for route in routes if isinstance(route, APIRoute)}
    guarded = {f"{prefix}{path}" for path in paths - OPEN}
    app.add_middleware(
        AuthenticationMiddleware,
        api_keys=server.api_keys,
        is_open=lambda path: path not in guarded,
    )
