"""What the ``server`` section says is what the app does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from dependency_injector import providers
from dependency_injector.containers import Container
from fastapi import FastAPI
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.testclient import TestClient
from starlette.types import Message

from app import create_app, include_serving
from app.keep_alive import COMMENT, KeepAlive
from app.service import Service
from containers import ApplicationContainer, Settings
from containers.errors import SettingsError
from containers.testing import FakeEngine, override
from tests.http.test_answers import QUESTION

CHAT = "/v1/chat/completions"
PATIENT = {"sse_keep_alive_interval": 15}
KEYS = {"api_keys": ["right", "other"]}
PROBES = ["/livez", "/readyz", "/startupz", "/health"]


def settings_of(**server: Any) -> Settings:
    return Settings.model_validate(
        {"server": server, "models": [{"name": "m", "source": "org/m"}]}
    )


def client_of(**server: Any) -> TestClient:
    """Client of an app that has not been started: what gets through is told 503."""
    return TestClient(create_app(settings_of(**server)), raise_server_exceptions=False)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def serving_app(
    serving_container: Container, request: pytest.FixtureRequest
) -> FastAPI:
    """An app with the server settings of a test's parameter."""
    model = serving_container.settings()
    settings = Settings.model_validate(
        {"server": getattr(request, "param", {}), "models": [model.model_dump()]}
    )
    models = providers.Object({model.name: serving_container})
    return create_app(ApplicationContainer(settings=settings, models=models))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearer("wrong"),
        bearer(""),
        bearer("right2"),
        bearer("RIGHT"),
        {"Authorization": "right"},
        {"Authorization": "Basic right"},
        {"X-API-Key": "wrong"},
        {"X-API-Key": "Bearer right"},
    ],
)
@pytest.mark.parametrize(
    "path", [CHAT, "/v1/models", "/tokenize", "/nowhere", "//v1/models", "/health/"]
)
def test_without_a_right_key_it_is_401(path: str, headers: dict[str, str]) -> None:
    response = client_of(**KEYS).post(path, headers=headers, json={})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    error = response.json()["error"]
    assert error["code"] == 401
    assert set(error) == {"message", "type", "param", "code"}
    assert "right" not in response.text


@pytest.mark.parametrize(
    "headers",
    [
        bearer("right"),
        bearer("other"),
        {"authorization": "bearer right"},
        {"X-API-Key": "right"},
        {"x-api-key": "other", **bearer("wrong")},
    ],
)
def test_with_one_it_gets_through(headers: dict[str, str]) -> None:
    client = client_of(**KEYS)
    assert client.get("/v1/models", headers=headers).status_code == 503


@pytest.mark.parametrize("path", PROBES)
def test_probes_need_no_key(path: str) -> None:
    assert client_of(**KEYS).get(path).status_code in {200, 503}


@pytest.mark.parametrize("path", ["/metrics", "/version", "/docs", "/openapi.json"])
def test_monitoring_and_documents_need_none_where_the_settings_say_so(
    path: str,
) -> None:
    assert client_of(**KEYS).get(path).status_code == 401
    opened = client_of(open_paths=[path], **KEYS)
    assert opened.get(path).status_code in {200, 503}
    assert opened.get("/v1/models").status_code == 401


def test_without_keys_everybody_gets_through() -> None:
    assert client_of().get("/v1/models").status_code == 503


def test_a_browser_may_ask_without_a_key() -> None:
    client = client_of(allowed_origins=["https://a.example"], **KEYS)
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    response = client.options(CHAT, headers=asked)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "https://a.example"
    refused = client.post(CHAT, headers={"Origin": "https://a.example"})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://a.example"


def test_other_origins_may_not() -> None:
    for client in (client_of(), client_of(allowed_origins=["https://a.example"])):
        response = client.get("/livez", headers={"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in response.headers


def test_keys_that_are_no_ascii_and_under_a_root_path() -> None:
    client = client_of(api_keys=["schlüssel"], root_path="/llm")
    sent = {"Authorization": "Bearer schlüssel".encode()}
    assert client.get("/v1/models", headers=sent).status_code == 503
    assert client.get("/v1/models").status_code == 401


@contextmanager
def host_client(prefix: str, **server: Any) -> Iterator[TestClient]:
    app = FastAPI()

    @app.get("/v1/mine")
    @app.get("/mine")
    async def mine() -> str:
        return "mine"

    include_serving(app, settings_of(**server), prefix=prefix)
    yield TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("prefix", ["", "/llm"])
def test_in_a_hosts_app_keys_guard_our_routes_alone(prefix: str) -> None:
    with host_client(prefix, **KEYS) as client:
        assert client.get("/mine").status_code == 200
        assert client.get("/v1/mine").status_code == 200
        assert client.get(f"{prefix}/livez").status_code == 200
        assert client.get(f"{prefix}/v1/models").status_code == 401
        assert client.post(f"{prefix}/tokenize").status_code == 401
        right = bearer("right")
        assert client.get(f"{prefix}/v1/models", headers=right).status_code == 503


def test_request_ids() -> None:
    assert "x-request-id" not in client_of().get("/livez").headers
    client = client_of(enable_request_id_headers=True, **KEYS)
    first, second = (client.get("/livez").headers["x-request-id"] for _ in range(2))
    assert first != second
    assert len(first) == 32
    sent = client.get("/v1/models", headers={"X-Request-Id": "mine"})
    assert sent.headers["x-request-id"] == "mine"


def test_documents_can_be_left_out() -> None:
    client = client_of(disable_fastapi_docs=True)
    paths = ("/docs", "/redoc", "/openapi.json")
    assert [client.get(path).status_code for path in paths] == [404] * 3


def test_documents_can_come_from_here() -> None:
    client = client_of(enable_offline_docs=True)
    page = client.get("/docs").text
    assert "https://" not in page.replace("https://fastapi.tiangolo.com", "")
    assert client.get("/static/swagger-ui.css").status_code == 200
    assert client.get("/redoc").status_code == 404


class Marking:
    """Pure ASGI middleware that marks every answer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"x-marked", b"yes"))
            await send(message)

        await self._app(scope, receive, marked)


class Buffering(BaseHTTPMiddleware):
    """What is refused."""


async def function(request: Any, call_next: Any) -> Any:
    return await call_next(request)


def test_middleware_is_used() -> None:
    client = client_of(middleware=[f"{__name__}.Marking"], **KEYS)
    assert client.get("/v1/models").headers["x-marked"] == "yes"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("function", "is no class"),
        ("Buffering", "is a BaseHTTPMiddleware"),
        ("Absent", "cannot be imported"),
    ],
)
def test_what_is_no_pure_asgi_class_is_refused(name: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        client_of(middleware=[f"{__name__}.Marking", f"{__name__}.{name}"])
    assert caught.value.key == "server.middleware.1"


ENABLED = {"enable_server_load_tracking": True, "enable_tokenizer_info_endpoint": True}


@pytest.mark.parametrize("serving_app", [ENABLED], indirect=True)
async def test_load_and_tokenizer_info_are_there_when_asked_for(
    serving_client: httpx.AsyncClient,
) -> None:
    assert (await serving_client.get("/load")).json() == {"server_load": 0}
    info = (await serving_client.get("/tokenizer_info")).json()
    assert "tokenizer_class" in info
    assert "chat_template" in info
    for path in ("/load", "/tokenizer_info"):
        assert client_of().get(path).status_code == 404


async def test_a_silent_stream_is_kept_open(
    serving_client: httpx.AsyncClient,
    serving_container: Container,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for = Service(ApplicationContainer(settings=settings_of(**PATIENT)))
    assert asked_for.sse_keep_alive_interval_s == PATIENT["sse_keep_alive_interval"]
    monkeypatch.setattr(Service, "sse_keep_alive_interval_s", 0.05)
    engine = FakeEngine(["Paris", "."], delay_s=0.13)
    with override(serving_container, engine=engine):
        response = await serving_client.post(CHAT, json=QUESTION | {"stream": True})
    assert COMMENT in response.text
    assert response.text.endswith("data: [DONE]\n\n")
    without = response.text.replace(COMMENT, "")
    assert ": keep-alive" not in without
    assert without.count("data: ") >= 3


async def test_a_comment_is_never_sent_into_an_event_or_after_the_end() -> None:
    sent: list[bytes] = []
    is_busy = False

    async def slow_send(message: Message) -> None:
        nonlocal is_busy
        assert not is_busy, "two senders at a time"
        is_busy = True
        await asyncio.sleep(0.025)
        is_busy = False
        sent.append(message["body"])

    comment = COMMENT.encode()
    async with KeepAlive(slow_send, interval_s=0.01) as kept:
        for number in range(5):
            await kept.send({"body": str(number).encode()})
            await asyncio.sleep(0.015)
        assert [body for body in sent if body != comment] == [
            b"0",
            b"1",
            b"2",
            b"3",
            b"4",
        ]
        assert comment in sent
    n_sent = len(sent)
    await asyncio.sleep(0.05)
    assert len(sent) == n_sent


async def test_a_client_that_left_during_a_comment_is_noticed_by_the_next_event() -> (
    None
):
    async def send(_: Message) -> None:
        raise OSError

    async with KeepAlive(send, interval_s=0.01) as kept:
        await asyncio.sleep(0.03)
        with pytest.raises(OSError):  # noqa: PT011  # whichever the server raises
            await kept.send({"body": b"0"})


async def test_a_generating_model_has_no_embeddings_and_goes_on(
    serving_client: httpx.AsyncClient,
) -> None:
    body = {"model": "tiny", "input": "a"}
    response = await serving_client.post("/v1/embeddings", json=body)
    assert response.status_code == response.json()["error"]["code"]
    assert response.status_code in {404, 501}
    assert (await serving_client.post(CHAT, json=QUESTION)).status_code == 200
