"""Limits: bodies, time, and how many at once, over real sockets where it matters."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from dependency_injector import providers
from dependency_injector.containers import Container
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import create_app, include_serving
from app.middleware import Guards
from app.middleware.body import BodyMiddleware
from app.middleware.time_limit import TimeLimitMiddleware
from containers import ApplicationContainer, ServerSettings, Settings
from containers.testing import FakeEngine, override
from tests.http.conftest import served
from tests.http.test_answers import QUESTION
from tests.http.test_authentication import client_of, settings_of

CHAT = "/v1/chat/completions"
STREAM = QUESTION | {"stream": True}


@pytest.fixture
def serving_app(
    serving_container: Container, request: pytest.FixtureRequest
) -> FastAPI:
    """An app with the server settings of a test's parameter."""
    return app_of(serving_container, **getattr(request, "param", {}))


def app_of(container: Container, **server: Any) -> FastAPI:
    model = container.settings()
    settings = Settings.model_validate(
        {"server": server, "models": [model.model_dump()]}
    )
    models = providers.Object({model.name: container})
    return create_app(ApplicationContainer(settings=settings, models=models))


def error_of(response: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == response.status_code
    return error


def chunks(n_bytes: int) -> Iterator[bytes]:
    for _ in range(n_bytes):
        yield b" "


@pytest.mark.parametrize("path", [CHAT, "/tokenize", "/v1/embeddings"])
def test_a_body_that_says_it_is_too_large_is_413(path: str) -> None:
    client = client_of(max_body_bytes=100)
    response = client.post(path, content=b" " * 101)
    assert response.status_code == 413
    assert (
        error_of(response)["message"] == "The request's body is larger than 100 bytes."
    )
    assert response.headers["connection"] == "close"
    assert client.post(path, content=b" " * 100).status_code != 413


@pytest.mark.parametrize("serving_app", [{"max_body_bytes": 300}], indirect=True)
async def test_a_body_without_a_length_is_counted_as_it_comes(
    serving_client: httpx.AsyncClient,
) -> None:
    async def body(n_more: int) -> AsyncIterator[bytes]:
        yield json.dumps(QUESTION).encode()
        yield b" " * n_more

    as_json = {"Content-Type": "application/json"}
    for n_more, status in ((0, 200), (300, 413)):
        answer = await serving_client.post(CHAT, content=body(n_more), headers=as_json)
        assert answer.status_code == status
    assert error_of(answer)["type"]


def test_there_are_limits_unless_the_settings_take_them_away() -> None:
    server = ServerSettings()
    assert server.max_body_bytes == 64 * 1024 * 1024
    assert server.body_timeout_s == 120
    assert has_guard(create_app(settings_of()), BodyMiddleware)
    bare = create_app(settings_of(max_body_bytes=None, body_timeout_s=None))
    assert not has_guard(bare, BodyMiddleware)
    assert not has_guard(create_app(settings_of()), TimeLimitMiddleware)


def has_guard(app: FastAPI, kind: type) -> bool:
    return any(isinstance(getattr(route, "app", None), kind) for route in app.routes)


def test_in_a_hosts_app_only_our_routes_have_limits() -> None:
    app = FastAPI()

    @app.post("/mine")
    async def mine() -> str:
        return "mine"

    include_serving(app, settings_of(max_body_bytes=10), prefix="/llm")
    client = TestClient(app)
    assert client.post("/mine", content=b" " * 100).json() == "mine"
    assert client.post(f"/llm{CHAT}", content=b" " * 100).status_code == 413


@contextmanager
def connected(url: str) -> Iterator[socket.socket]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        yield connection


def head(*headers: str, path: str = CHAT) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: a", "Content-Type: application/json"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def everything_from(connection: socket.socket) -> bytes:
    received = b""
    while part := connection.recv(65536):
        received += part
    return received


def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never came true")


def test_a_slow_body_is_408_and_its_connection_ends(
    serving_container: Container,
) -> None:
    app = app_of(serving_container, body_timeout_s=0.3)
    with served(app) as url, connected(url) as connection:
        connection.sendall(head("Content-Length: 50") + b"{")
        began = time.monotonic()
        received = everything_from(connection)
        assert 0.2 < time.monotonic() - began < 5
    assert received.startswith(b"HTTP/1.1 408")
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["code"] == 408


def test_dripping_does_not_make_a_slow_body_last(serving_container: Container) -> None:
    app = app_of(serving_container, body_timeout_s=0.4)
    with served(app) as url, connected(url) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        connection.setblocking(False)  # socket's
        received, began = b"", time.monotonic()
        while not received and time.monotonic() - began < 5:
            try:
                connection.sendall(b"1\r\n \r\n")
                time.sleep(0.02)
                received = connection.recv(65536)
            except BlockingIOError:
                continue
    assert received.startswith(b"HTTP/1.1 408")


def test_an_endless_body_is_413_before_it_ends(serving_container: Container) -> None:
    app = app_of(serving_container, max_body_bytes=1000)
    with served(app) as url, connected(url) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        for _ in range(20):
            connection.sendall(b"100\r\n" + b" " * 256 + b"\r\n")
        received = connection.recv(65536)
    assert received.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("serving_app", [{"request_timeout_s": 0.3}], indirect=True)
async def test_a_request_that_takes_too_long_is_504_and_its_generation_ends(
    serving_client: httpx.AsyncClient, serving_container: Container
) -> None:
    engine = FakeEngine(["a"] * 100, delay_s=0.1)
    with override(serving_container, engine=engine):
        response = await serving_client.post(CHAT, json=QUESTION | {"max_tokens": 100})
        assert response.status_code == 504
        assert error_of(response) == {
            "message": "The request took longer than 0.3 s.",
            "type": "TimeoutError",
            "param": None,
            "code": 504,
        }
        assert len(engine.aborted) == 1


@pytest.mark.parametrize("serving_app", [{"request_timeout_s": 0.3}], indirect=True)
@pytest.mark.parametrize(
    ("path", "ending"),
    [
        (CHAT, "data: [DONE]\n\n"),
        ("/v1/completions", "data: [DONE]\n\n"),
        ("/v1/messages", '"message": "The request took longer than 0.3 s."}}\n\n'),
    ],
)
async def test_a_stream_that_takes_too_long_ends_with_an_error_event(
    serving_client: httpx.AsyncClient,
    serving_container: Container,
    path: str,
    ending: str,
) -> None:
    engine = FakeEngine(["a"] * 100, delay_s=0.05)
    body = STREAM | {"max_tokens": 100, "model": "tiny", "prompt": "a"}
    if path != "/v1/completions":
        del body["prompt"]
    with override(serving_container, engine=engine):
        response = await serving_client.post(path, json=body)
    if response.status_code == 404:
        pytest.skip("this route is not served yet")
    assert response.status_code == 200
    assert response.text.count("data: ") > 3
    assert "The request took longer than 0.3 s." in response.text
    assert response.text.endswith(ending)
    assert len(engine.aborted) == 1


@pytest.mark.parametrize("serving_app", [{"request_timeout_s": 5}], indirect=True)
async def test_one_in_time_is_as_without_a_limit(
    serving_client: httpx.AsyncClient,
) -> None:
    assert (await serving_client.post(CHAT, json=QUESTION)).status_code == 200
    stream = await serving_client.post(CHAT, json=STREAM)
    assert stream.text.endswith("data: [DONE]\n\n")
    assert "error" not in stream.text


def test_a_client_that_stops_reading_is_given_up(serving_container: Container) -> None:
    # More than the sockets' buffers hold, so that the server has to wait.
    engine = FakeEngine(["a" * 200_000] * 200)
    app = app_of(serving_container, request_timeout_s=1, max_concurrent_requests=1)
    body = json.dumps(STREAM | {"max_tokens": 200}).encode()
    with (
        override(serving_container, engine=engine),
        served(app) as url,
        connected(url) as connection,
    ):
        wait_until_ready(url)
        connection.sendall(head(f"Content-Length: {len(body)}") + body)
        eventually(lambda: len(engine.requests) == 1)
        assert httpx.get(f"{url}/v1/models").status_code == 503
        eventually(lambda: len(engine.aborted) == 1)
        eventually(lambda: httpx.get(f"{url}/v1/models").status_code == 200)


def wait_until_ready(url: str) -> None:
    eventually(lambda: httpx.get(f"{url}/readyz").status_code == 200)


@pytest.mark.parametrize("serving_app", [{"max_concurrent_requests": 1}], indirect=True)
async def test_more_at_once_than_there_is_room_for_come_again_later(
    serving_client: httpx.AsyncClient, serving_container: Container
) -> None:
    engine = FakeEngine(["Paris"] * 3, delay_s=0.1)
    with override(serving_container, engine=engine):
        first = asyncio.create_task(serving_client.post(CHAT, json=QUESTION))
        while not engine.requests:  # noqa: ASYNC110  # the engine tells nobody
            await asyncio.sleep(0.01)
        refused = await serving_client.post(CHAT, json=QUESTION)
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) > 0
        assert error_of(refused)["type"] == "ServiceUnavailableError"
        assert (await serving_client.get("/readyz")).status_code == 200
        assert (await first).status_code == 200
        assert (await serving_client.post(CHAT, json=QUESTION)).status_code == 200


@pytest.mark.parametrize("serving_app", [{"max_concurrent_requests": 1}], indirect=True)
async def test_room_comes_back_whatever_a_request_ends_with(
    serving_client: httpx.AsyncClient,
) -> None:
    for body in (b"{", b"[]", b"null", b'{"messages": 1}'):
        refused = await serving_client.post(
            CHAT, content=body, headers={"Content-Type": "application/json"}
        )
        assert refused.status_code == 400
    assert (await serving_client.post(CHAT, json=STREAM)).status_code == 200
    assert (await serving_client.post(CHAT, json=QUESTION)).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_a_full_queue_is_503_as_vllm_says_it(
    serving_client: httpx.AsyncClient, serving_container: Container, stream: bool
) -> None:
    engine = FakeEngine(max_num_queued_reqs=0)
    with override(serving_container, engine=engine):
        refused = await serving_client.post(CHAT, json=QUESTION | {"stream": stream})
    assert refused.status_code == 503
    assert "busy" in error_of(refused)["message"]


def test_vllms_own_queue_limits_are_engine_arguments() -> None:
    engine = {"max_num_queued_reqs": 8, "max_num_queued_tokens": 4096}
    models = [{"name": "m", "source": "org/m", "engine": engine}]
    assert Settings.model_validate({"models": models}).models[0].engine == engine


BODIES = [b"{bad", b"[]", b"null", b'"x"', b"", b"\xff", b"[" * 10000]


@pytest.mark.parametrize(
    "serving_app",
    [{"max_body_bytes": 10**6, "request_timeout_s": 60, "max_concurrent_requests": 9}],
    indirect=True,
)
@pytest.mark.parametrize("body", BODIES)
async def test_a_bad_body_is_400_behind_every_limit(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine, body: bytes
) -> None:
    as_json = {"Content-Type": "application/json"}
    response = await serving_client.post(CHAT, content=body, headers=as_json)
    assert response.status_code == 400
    error_of(response)
    assert "Traceback" not in response.text
    assert serving_engine.requests == []


@pytest.mark.parametrize("serving_app", [{"request_timeout_s": 60}], indirect=True)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_stream_that_fails_before_its_first_token_is_no_200(
    serving_client: httpx.AsyncClient, stream: bool
) -> None:
    long = {"messages": [{"role": "user", "content": "word " * 2000}]}
    wanted = QUESTION | {"stream": stream}
    for body, status in ((long, 400), ({"model": "absent"}, 404)):
        response = await serving_client.post(CHAT, json=wanted | body)
        assert response.status_code == status
        assert response.headers["content-type"] == "application/json"
        error_of(response)


TEMPLATE = "{% for _ in range(10**9) %}x{% endfor %}"


@pytest.mark.parametrize("serving_app", [{"request_timeout_s": 60}], indirect=True)
@pytest.mark.parametrize("path", [CHAT, "/tokenize"])
@pytest.mark.parametrize(
    "field",
    [
        {"chat_template": TEMPLATE},
        {"chat_template_kwargs": {"chat_template": TEMPLATE}},
    ],
)
async def test_a_template_of_the_clients_is_refused_at_once(
    serving_client: httpx.AsyncClient,
    serving_engine: FakeEngine,
    path: str,
    field: dict[str, Any],
) -> None:
    response = await serving_client.post(path, json=QUESTION | field)
    assert response.status_code == 400
    error_of(response)
    assert serving_engine.requests == []


async def test_off_means_that_nothing_stands_before_a_route() -> None:
    app = FastAPI()

    @app.post("/x")
    async def x() -> str:
        return "x"

    before = [route.app for route in app.routes if hasattr(route, "app")]
    guards = Guards(ServerSettings(max_body_bytes=None, body_timeout_s=None))
    guards.guard_routes(app.routes)
    guards.authenticate_routes()
    guards.guard_app(app)
    assert [route.app for route in app.routes if hasattr(route, "app")] == before
    assert app.user_middleware == []
