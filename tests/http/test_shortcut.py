"""The shorter way to our routes is taken only where it makes no difference."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from dependency_injector.containers import Container
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Host, Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from app import create_app, include_serving
from app.dependencies import registry
from app.errors import ServingRoute
from app.service import STATE_ATTRIBUTE
from tests.http.test_answers import QUESTION

CHAT = "/v1/chat/completions"


class OwnRoute(APIRoute):
    """A host's kind of route, which may match by anything."""

    def matches(self, scope: Scope) -> tuple[object, Scope]:  # type: ignore[override]  # as loose as hosts are
        return super().matches(scope)


class OuterMiddleware:
    """Does nothing but stand there."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


async def elsewhere(_: object) -> Response:
    return PlainTextResponse("elsewhere")


async def on_key_error(*_: object) -> Response:
    return PlainTextResponse("a key error")


def before_ours(app: FastAPI, route: Route | Host | APIRoute) -> None:
    app.router.routes.insert(0, route)


def with_handler(app: FastAPI) -> None:
    app.add_exception_handler(KeyError, on_key_error)


def with_override(app: FastAPI) -> None:
    service = getattr(app.state, STATE_ATTRIBUTE)

    async def overridden() -> object:
        return service.registry

    app.dependency_overrides[registry] = overridden


def with_host_route(app: FastAPI) -> None:
    before_ours(app, Host("elsewhere.test", app=APIRouter()))


def with_odd_route(app: FastAPI) -> None:
    before_ours(app, OwnRoute("/odd", on_key_error, include_in_schema=False))


def with_inner_middleware(app: FastAPI) -> None:
    app.user_middleware.append(Middleware(OuterMiddleware))


def as_it_is(app: FastAPI) -> None:
    del app


Change = Callable[[FastAPI], None]
LONG_WAYS = [
    with_handler,
    with_override,
    with_host_route,
    with_odd_route,
    with_inner_middleware,
]


@contextmanager
def long_ways() -> Iterator[list[str]]:
    """Paths of the requests that have gone the long way."""
    paths: list[str] = []
    go: Callable[..., Awaitable[None]] = ExceptionMiddleware.__call__

    async def noted(self: ExceptionMiddleware, scope: Scope, *rest: object) -> None:
        if scope["type"] == "http":
            paths.append(scope["path"])
        await go(self, scope, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExceptionMiddleware, "__call__", noted)
        yield paths


@pytest.mark.parametrize("change", [as_it_is, *LONG_WAYS])
def test_the_long_way_is_taken_where_somebody_may_have_a_say(
    serving_container: Container, change: Change
) -> None:
    app = FastAPI()
    include_serving(app, serving_container)
    change(app)
    with long_ways() as paths, TestClient(app) as client:
        answer = client.post(CHAT, json=QUESTION)
    assert answer.status_code == 200, answer.text
    assert bool(paths) == (change in LONG_WAYS)


def test_a_route_before_ours_is_asked_first_even_if_it_comes_late(
    serving_container: Container,
) -> None:
    app = FastAPI()
    include_serving(app, serving_container)
    with TestClient(app) as client:
        assert client.post(CHAT, json=QUESTION).json()["object"] == "chat.completion"
        before_ours(app, Route(CHAT, elsewhere, methods=["POST"]))
        assert client.post(CHAT, json=QUESTION).text == "elsewhere"
        del app.router.routes[0]
        assert client.post(CHAT, json=QUESTION).json()["object"] == "chat.completion"


def test_a_hosts_middleware_stands_before_it_and_finds_the_route(
    serving_container: Container,
) -> None:
    app = FastAPI()
    found: list[object] = []

    class Looking(OuterMiddleware):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await self.app(scope, receive, send)
            if scope["type"] == "http":
                found.append(scope.get("route"))

    app.add_middleware(Looking)
    include_serving(app, serving_container)
    with long_ways() as paths, TestClient(app) as client:
        assert client.post(CHAT, json=QUESTION).status_code == 200
    (route,) = found
    assert isinstance(route, ServingRoute)
    assert route.path == CHAT
    assert not paths


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"{}", 400), (b"", 400), (b"[1]", 400)]
)
def test_a_wrong_request_is_refused_alike(
    serving_container: Container, body: bytes, status: int
) -> None:
    answers = []
    for change in (as_it_is, with_handler):
        app = create_app(serving_container)
        change(app)
        with TestClient(app) as client:
            headers = {"Content-Type": "application/json"}
            answer = client.post(CHAT, content=body, headers=headers)
        answers.append((answer.status_code, answer.json()))
    assert answers[0] == answers[1]
    assert answers[0][0] == status
