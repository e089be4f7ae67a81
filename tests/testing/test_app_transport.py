"""An app called in process: its lifespan, its errors, and clients that leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from containers.testing.http import AppTransport, OwnLoop, exchange

seen: list[str] = []


async def echo(request: Request) -> Response:
    body = (await request.body()).decode()
    found = {"body": body, "query": dict(request.query_params), "at": request.url.path}
    return JSONResponse(found | {"greeting": request.state.greeting})


async def raising(_: Request) -> Response:
    raise KeyError("from the route")


async def with_work_after(_: Request) -> Response:
    async def work() -> None:
        await asyncio.sleep(0.02)
        seen.append("worked")

    return PlainTextResponse("done", background=BackgroundTask(work))


async def deaf(scope: Any, receive: Any, send: Any) -> None:
    """An app that goes on although its client has left."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(0)


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[dict[str, str]]:
    seen.append("started")
    yield {"greeting": "hello"}
    seen.append("stopped")


ROUTES = [
    Route("/echo", echo, methods=["POST", "GET"]),
    Route("/raising", raising),
    Route("/after", with_work_after),
]


@pytest.fixture
def loop() -> Iterator[OwnLoop]:
    loop = OwnLoop()
    seen.clear()
    yield loop
    left = loop.tasks()
    loop.close()
    assert left == set()


@pytest.fixture
def transport(loop: OwnLoop) -> Iterator[AppTransport]:
    transport = AppTransport(Starlette(routes=ROUTES, lifespan=lifespan), loop)
    yield transport
    transport.stop()


@pytest.fixture
def client(transport: AppTransport) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def test_a_request_arrives_whole(client: httpx.AsyncClient) -> None:
    answer = await client.post("/echo", params={"a": "b c"}, content=b"x" * 100_000)
    assert answer.json() == {
        "body": "x" * 100_000,
        "query": {"a": "b c"},
        "at": "/echo",
        "greeting": "hello",
    }


async def test_the_app_starts_once_at_the_first_request_and_stops_once(
    client: httpx.AsyncClient, transport: AppTransport
) -> None:
    assert seen == []
    await asyncio.gather(*(client.get("/echo") for _ in range(4)))
    assert seen == ["started"]
    transport.stop()
    assert seen == ["started", "stopped"]


async def test_an_app_nobody_asks_is_not_started(client: httpx.AsyncClient) -> None:
    assert seen == []


async def test_what_a_route_raises_is_raised(client: httpx.AsyncClient) -> None:
    with pytest.raises(KeyError, match="from the route"):
        await client.get("/raising")
    assert (await client.get("/echo")).is_success


async def test_work_after_an_answer_is_awaited(client: httpx.AsyncClient) -> None:
    assert (await client.get("/after")).text == "done"
    assert seen == ["started", "worked"]


async def test_a_failed_start_is_raised_and_may_be_tried_again(loop: OwnLoop) -> None:
    failures = [ValueError("no model")]

    @asynccontextmanager
    async def failing(_: Starlette) -> AsyncIterator[dict[str, str]]:
        if failures:
            raise failures.pop()
        yield {"greeting": "hello"}

    transport = AppTransport(Starlette(routes=ROUTES, lifespan=failing), loop)
    client = httpx.AsyncClient(transport=transport, base_url="http://test")
    with pytest.raises(ValueError, match="no model"):
        await client.get("/echo")
    assert (await client.get("/echo")).is_success
    transport.stop()


async def test_a_failed_stop_is_raised(loop: OwnLoop) -> None:
    @asynccontextmanager
    async def failing(_: Starlette) -> AsyncIterator[dict[str, str]]:
        yield {"greeting": "hello"}
        raise ValueError("no end")

    transport = AppTransport(Starlette(routes=ROUTES, lifespan=failing), loop)
    client = httpx.AsyncClient(transport=transport, base_url="http://test")
    await client.get("/echo")
    with pytest.raises(ValueError, match="no end"):
        transport.stop()


async def test_a_start_that_takes_too_long_can_be_given_up(loop: OwnLoop) -> None:
    @asynccontextmanager
    async def slow(_: Starlette) -> AsyncIterator[None]:
        await asyncio.sleep(60)
        yield

    transport = AppTransport(Starlette(routes=ROUTES, lifespan=slow), loop)
    client = httpx.AsyncClient(transport=transport, base_url="http://test")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.get("/echo")
    transport.stop()


async def test_a_client_that_stops_waiting_has_left_when_it_goes_on(
    loop: OwnLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "ABANDON_TIMEOUT_S", 0.05)

    async def slow(_: Request) -> Response:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            seen.append("cleaned up")
        return PlainTextResponse("late")

    transport = AppTransport(Starlette(routes=[Route("/slow", slow)]), loop)
    client = httpx.AsyncClient(transport=transport, base_url="http://test")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.get("/slow")
    assert seen == ["cleaned up"]
    transport.stop()


async def test_an_app_that_ignores_a_client_that_left_is_named(
    loop: OwnLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "LEAVE_TIMEOUT_S", 0.05)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        handler = Starlette() if scope["type"] == "lifespan" else deaf
        await handler(scope, receive, send)

    transport = AppTransport(app, loop)
    client = httpx.AsyncClient(transport=transport, base_url="http://test")
    request = client.build_request("GET", "/deaf")
    answer = await client.send(request, stream=True)
    assert await anext(answer.aiter_raw()) == b"x"
    with pytest.raises(RuntimeError, match="app /deaf went on"):
        await answer.aclose()
    transport.stop()
