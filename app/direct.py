"""Endpoints called without what FastAPI does for parameters that they do not have."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_PARAMETERS = (
    "path_params",
    "query_params",
    "header_params",
    "cookie_params",
    "body_params",
    "websocket_param_name",
    "response_param_name",
    "background_tasks_param_name",
    "security_scopes_param_name",
)


def direct_handler(route: APIRoute) -> Handler | None:
    """What calls a route's endpoint with the request and what depends on it alone.

    Args:
        route: Route of an app; its ``dependency_overrides`` are not looked at.

    Returns:
        Coroutine function of the request; ``None`` if the endpoint or one of its
        dependencies wants anything else, or gives anything but a response.
    """
    dependant = route.dependant
    if not _is_plain(dependant) or not _gives_response(route.endpoint):
        return None
    if not all(
        _is_plain(each) and not each.dependencies for each in dependant.dependencies
    ):
        return None
    own, endpoint = dependant.request_param_name, route.endpoint
    injected = [
        (each.name, each.call, _parameter(each)) for each in dependant.dependencies
    ]

    async def handle(request: Request) -> Response:
        values: dict[str, Any] = {own: request} if own else {}
        for name, call, parameter in injected:
            value = await call(**{parameter: request} if parameter else {})  # type: ignore[misc]  # as _is_plain has seen
            if name is not None:
                values[name] = value
        response: Response = await endpoint(**values)
        return response

    return handle


def _is_plain(dependant: Dependant) -> bool:
    wants_more = any(getattr(dependant, name) for name in _PARAMETERS)
    return dependant.is_coroutine_callable and not wants_more


def _parameter(dependant: Dependant) -> str | None:
    return dependant.http_connection_param_name or dependant.request_param_name


@cache
def _gives_response(endpoint: Callable[..., Any]) -> bool:
    given = get_type_hints(endpoint).get("return")
    return isinstance(given, type) and issubclass(given, Response)
