"""Every error has OpenAI's shape, the right status, and never reaches the engine."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container

from containers import ServingError
from containers.testing import FakeEngine, override
from tests.http.test_answers import QUESTION

JSON = {"content-type": "application/json"}


def error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error of an answer in OpenAI's shape."""
    assert response.headers["content-type"] == "application/json"
    assert response.status_code == status
    body = response.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert {"message", "type", "param", "code"} <= set(error)
    assert error["code"] == status
    assert isinstance(error["message"], str)
    assert "Traceback" not in error["message"]
    assert ".py" not in error["message"]
    return error


POSTS = ["/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize(
    "content", ["{bad", "[]", "null", '"x"', "1", "", "{}", "\xff", "NaN"]
)
async def test_a_malformed_body_is_400(
    serving_client: httpx.AsyncClient,
    serving_engine: FakeEngine,
    path: str,
    content: str,
) -> None:
    body = content.encode("latin-1")
    error_of(await serving_client.post(path, content=body, headers=JSON), 400)
    assert serving_engine.requests == []


@pytest.fixture
def without_collecting() -> Iterator[None]:
    """Collect no garbage: finalisers cannot run in the depth of a recursion."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collecting")
@pytest.mark.parametrize("path", POSTS)
async def test_too_deep_a_body_is_400(
    serving_client: httpx.AsyncClient, path: str
) -> None:
    body = b"[" * 10_000
    error_of(await serving_client.post(path, content=body, headers=JSON), 400)


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", None])
async def test_another_content_type_is_400(
    serving_client: httpx.AsyncClient, path: str, media_type: str | None
) -> None:
    headers = {"content-type": media_type} if media_type else {}
    error = error_of(
        await serving_client.post(path, content=b"{}", headers=headers), 400
    )
    assert "application/json" in error["message"]


async def test_json_with_a_charset_is_json(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(
        "/v1/completions",
        content=b'{"model": "tiny", "prompt": "a"}',
        headers={"content-type": "Application/JSON; charset=utf-8"},
    )
    assert response.status_code == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_an_unknown_model_is_404(
    serving_client: httpx.AsyncClient, *, stream: bool
) -> None:
    body = QUESTION | {"model": "nope", "stream": stream}
    error = error_of(await serving_client.post("/v1/chat/completions", json=body), 404)
    assert "nope" in error["message"]
    assert error["param"] == "model"


@pytest.mark.parametrize("stream", [False, True])
async def test_too_long_a_prompt_is_400(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine, *, stream: bool
) -> None:
    chat = {"messages": [{"role": "user", "content": "word " * 500}]}
    response = await serving_client.post(
        "/v1/chat/completions", json=QUESTION | chat | {"stream": stream}
    )
    error = error_of(response, 400)
    assert "256" in error["message"]
    prompt = {"model": "tiny", "prompt": "word " * 500, "stream": stream}
    error_of(await serving_client.post("/v1/completions", json=prompt), 400)
    assert serving_engine.requests == []


@pytest.mark.parametrize(
    "fault",
    [
        {"temperature": -1},
        {"max_tokens": -5},
        {"n": 0},
        {"messages": "hello"},
        {"messages": []},
        {"top_logprobs": 5},
        {"response_format": {"type": "json_schema", "schema": {}}},
        {"response_format": {"type": "nonsense"}},
        {"tools": [], "tool_choice": "required"},
        {"chat_template": "{{ 1 }}"},
        {"chat_template_kwargs": {"chat_template": "{{ 1 }}"}},
        {"continue_final_message": True, "add_generation_prompt": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_bad_field_is_400(
    serving_client: httpx.AsyncClient,
    serving_engine: FakeEngine,
    fault: Any,
    *,
    stream: bool,
) -> None:
    body = QUESTION | fault | {"stream": stream}
    error_of(await serving_client.post("/v1/chat/completions", json=body), 400)
    assert serving_engine.requests == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/v1/chat/completions", 405)],
)
async def test_what_the_framework_refuses_has_the_shape_too(
    serving_client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    error_of(await serving_client.request(method, path), status)


async def test_a_failed_generation_is_500(
    serving_client: httpx.AsyncClient, serving_container: Container
) -> None:
    engine = FakeEngine(fails=RuntimeError("out of order"))
    with override(serving_container, engine=engine):
        error_of(await serving_client.post("/v1/chat/completions", json=QUESTION), 500)
        body = QUESTION | {"stream": True}
        streamed = await serving_client.post("/v1/chat/completions", json=body)
        *_, error, done = streamed.text.strip().split("\n\n")
        assert json.loads(error.removeprefix("data: "))["error"]["code"] == 500
        assert done == "data: [DONE]"


async def test_a_dead_engine_is_503(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine
) -> None:
    assert (await serving_client.get("/health")).is_success
    serving_engine.die()
    error_of(await serving_client.post("/v1/chat/completions", json=QUESTION), 503)


async def test_a_serving_error_of_ours_is_500(
    serving_client: httpx.AsyncClient,
    serving_container: Container,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(*_: Any) -> None:
        raise ServingError("out of order")

    assert (await serving_client.get("/health")).is_success
    chat = serving_container.serving_chat()
    monkeypatch.setattr(chat, "create_chat_completion", broken)
    answer = await serving_client.post("/v1/chat/completions", json=QUESTION)
    assert error_of(answer, 500)["message"] == "out of order"
