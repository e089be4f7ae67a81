"""Routes that want nothing but their request are called without FastAPI's solver."""

from __future__ import annotations

from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute

from app.dependencies import registry
from app.direct import direct_handler
from app.errors import ServingRoute
from app.routes import router as routes_of
from containers.errors import NotReadyError
from containers.settings import ServerSettings
from tests.http.test_answers import QUESTION

CHAT = "/v1/chat/completions"


def route_of(endpoint: Any, path: str = "/") -> APIRoute:
    router = APIRouter(route_class=ServingRoute)
    router.get(path)(endpoint)
    (route,) = router.routes
    assert isinstance(route, APIRoute)
    return route


async def given() -> str:
    return "given"


async def yielding() -> Any:
    yield "given"


async def of_request(
    request: Request, value: Annotated[str, Depends(given)]
) -> Response:
    return Response(f"{request.method} {value}")


async def with_path(number: int) -> Response:
    return Response(str(number))


async def with_query(request: Request, number: int = 0) -> Response:
    return Response(f"{request.method} {number}")


async def with_cleanup(value: Annotated[str, Depends(yielding)]) -> Response:
    return Response(value)


async def with_model() -> dict[str, int]:
    return {"a": 1}


def in_a_thread(request: Request) -> Response:
    return Response(request.method)


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/v1/embeddings"])
def test_the_routes_of_vllm_are_such(path: str) -> None:
    found: list[BaseRoute] = routes_of(ServerSettings()).routes
    (route,) = (
        each for each in found if isinstance(each, APIRoute) and each.path == path
    )
    assert direct_handler(route) is not None


@pytest.mark.parametrize(
    "endpoint", [with_query, with_cleanup, with_model, in_a_thread]
)
def test_a_route_that_wants_or_gives_more_is_not(endpoint: Any) -> None:
    assert direct_handler(route_of(of_request)) is not None
    assert direct_handler(route_of(endpoint)) is None
    assert direct_handler(route_of(with_path, "/{number}")) is None


async def test_a_dependency_that_a_test_overrides_is_overridden(
    serving_client: httpx.AsyncClient, serving_app: FastAPI
) -> None:
    async def not_ready() -> Any:
        raise NotReadyError(provider="the model", state="overridden", hint="")

    assert (await serving_client.post(CHAT, json=QUESTION)).status_code == 200
    serving_app.dependency_overrides[registry] = not_ready
    response = await serving_client.post(CHAT, json=QUESTION)
    assert response.status_code == 503
    assert "overridden" in response.json()["error"]["message"]
    serving_app.dependency_overrides.clear()
    assert (await serving_client.post(CHAT, json=QUESTION)).status_code == 200
