"""Putting our routes into an app."""

from __future__ import annotations

from copy import copy
from functools import cache

from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from app.errors import ServingRoute

ADDED = (
    "callbacks",
    "default_response_class",
    "dependencies",
    "deprecated",
    "generate_unique_id_function",
    "include_in_schema",
    "prefix",
    "responses",
    "strict_content_type",
    "tags",
)
"""What an app's own router may add to the routes of those it includes."""


def include_routes(app: FastAPI, router: APIRouter, prefix: str) -> list[BaseRoute]:
    """Include a router in an app, and give the routes that are now the app's.

    FastAPI reads the signature of every endpoint anew, which costs 10 ms and more;
    routes to which the app adds nothing are copied instead.
    """
    n_before = len(app.router.routes)
    if prefix or _adds_something(app):
        app.include_router(router, prefix=prefix)
    else:
        app.router.routes += [_of_app(route, app) for route in router.routes]
    return app.router.routes[n_before:]


def _of_app(route: BaseRoute, app: FastAPI) -> BaseRoute:
    return route.of_app(app) if isinstance(route, ServingRoute) else copy(route)


def _adds_something(app: FastAPI) -> bool:
    if (type(app.router), type(app).include_router) != (
        APIRouter,
        FastAPI.include_router,
    ):
        return True
    return any(getattr(app.router, n) != getattr(_plain(), n) for n in ADDED)


@cache
def _plain() -> APIRouter:
    return FastAPI().router
