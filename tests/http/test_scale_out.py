"""One request's work shared by several servers: render, generate, derender."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI

from app.routes import derender, render, tokens
from containers.testing import FakeEngine
from tests.http.conftest import app_of
from tests.http.test_answers import QUESTION, events
from tests.http.test_errors import JSON, error_of
from tests.http.test_messages import BODY as MESSAGE
from tests.http.test_responses import INPUT

GENERATE = "/inference/v1/generate"
ABORT = "/inference/v1/abort_requests"
PATHS = [r.path for noun in (render, derender, tokens) for r in noun.router.routes]  # type: ignore[attr-defined]  # each an APIRoute
RENDERED = {
    "/v1/chat/completions/render": QUESTION,
    "/v1/messages/render": MESSAGE,
    "/v1/responses/render": INPUT,
}


@pytest.fixture
def serving_app(
    serving_container: Container, request: pytest.FixtureRequest
) -> FastAPI:
    is_enabled = getattr(request, "param", True)
    return app_of(serving_container, enable_scale_out=is_enabled)


async def posted(client: httpx.AsyncClient, path: str, body: Any) -> Any:
    response = await client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("serving_app", [False], indirect=True)
async def test_it_is_refused_unless_it_is_enabled(
    serving_client: httpx.AsyncClient,
) -> None:
    assert len(PATHS) == 8
    for path in PATHS:
        error = error_of(await serving_client.post(path, json={}), 403)
        assert error["type"] == "PermissionDeniedError"
        assert "server.enable_scale_out: true" in error["message"]


@pytest.mark.parametrize("path", RENDERED)
async def test_what_is_rendered_is_what_the_engine_would_get(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine, path: str
) -> None:
    rendered = await posted(serving_client, path, RENDERED[path])
    assert serving_engine.requests == []
    await posted(serving_client, path.removesuffix("/render"), RENDERED[path])
    (request,) = serving_engine.requests
    assert rendered["token_ids"] == list(request.prompt_token_ids)


async def test_the_prompts_of_a_completion_are_rendered_each_by_itself(
    serving_client: httpx.AsyncClient,
) -> None:
    body = {"model": "tiny", "prompt": ["a", "b c"]}
    rendered = await posted(serving_client, "/v1/completions/render", body)
    for prompt, each in zip(body["prompt"], rendered, strict=True):
        text = {"model": "tiny", "prompt": prompt}
        tokenized = await posted(serving_client, "/tokenize", text)
        assert each["token_ids"] == tokenized["tokens"]


async def test_rendered_generated_and_derendered_is_answered(
    serving_client: httpx.AsyncClient,
) -> None:
    path = "/v1/chat/completions"
    rendered = await posted(serving_client, f"{path}/render", QUESTION)
    generated = await posted(serving_client, GENERATE, rendered)
    token_ids = await posted(
        serving_client, "/tokenize", {"model": "tiny", "prompt": "Paris."}
    )
    generated["choices"][0]["token_ids"] = token_ids["tokens"]
    body = {"model": "tiny", "generate_response": generated}
    answered = await posted(serving_client, f"{path}/derender", body)
    assert answered["object"] == "chat.completion"
    assert answered["choices"][0]["message"]["content"] == "Paris."
    body = {"model": "tiny", "generate_responses": [generated]}
    completed = await posted(serving_client, "/v1/completions/derender", body)
    assert completed["choices"][0]["text"] == "Paris."


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
async def test_a_stream_is_derendered_piece_by_piece(
    serving_client: httpx.AsyncClient, path: str
) -> None:
    prompt = {"model": "tiny", "prompt": "Paris is"}
    token_ids = (await posted(serving_client, "/tokenize", prompt))["tokens"]
    text, state = "", None
    for place, token_id in enumerate(token_ids):
        is_last = place == len(token_ids) - 1
        choice = {"index": 0, "token_ids": [token_id]}
        choice["finish_reason"] = "stop" if is_last else None
        body = {
            "model": "tiny",
            "stream": True,
            "stream_state": state,
            "generate_chunk": {"request_id": "r", "choices": [choice]},
        }
        piece = await posted(serving_client, f"{path}/derender", body)
        state = piece["stream_state"]
        for made in piece["chunk"]["choices"]:
            text += made.get("text") or made.get("delta", {}).get("content") or ""
    assert text == "Paris is"


async def test_generated_tokens_are_streamed(serving_client: httpx.AsyncClient) -> None:
    body = {"model": "tiny", "token_ids": [70], "sampling_params": {"max_tokens": 8}}
    whole = await posted(serving_client, GENERATE, body)
    chunks = events(await serving_client.post(GENERATE, json=body | {"stream": True}))
    token_ids = [i for chunk in chunks for i in chunk["choices"][0]["token_ids"]]
    assert len(token_ids) == len(whole["choices"][0]["token_ids"])


@pytest.mark.parametrize("path", [each for each in PATHS if each != ABORT])
@pytest.mark.parametrize("content", ["{bad", "[]", "null", "", "{}"])
async def test_a_malformed_body_is_400(
    serving_client: httpx.AsyncClient, path: str, content: str
) -> None:
    error_of(await serving_client.post(path, content=content, headers=JSON), 400)


@pytest.mark.parametrize("path", [each for each in RENDERED if "messages" not in each])
async def test_an_unknown_model_is_404(
    serving_client: httpx.AsyncClient, path: str
) -> None:
    body = RENDERED[path] | {"model": "none"}
    assert error_of(await serving_client.post(path, json=body), 404)["param"] == "model"


async def test_generations_are_aborted_by_their_ids(
    serving_client: httpx.AsyncClient,
) -> None:
    for ids in (["a", "b"], "a", []):
        response = await serving_client.post(ABORT, json={"request_ids": ids})
        assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize(
    "content",
    ["{bad", "[]", "null", "", "{}", '{"request_ids": 5}', '{"request_ids": [{}]}'],
)
async def test_what_is_no_list_of_ids_aborts_nothing(
    serving_client: httpx.AsyncClient, content: str
) -> None:
    error_of(await serving_client.post(ABORT, content=content), 400)
