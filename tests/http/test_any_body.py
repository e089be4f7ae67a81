"""No body makes a server error: every route, every kind of nonsense."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.routes import router
from containers import ServerSettings
from tests.http.conftest import app_of
from tests.http.test_answers import QUESTION

ROUTES = [
    route
    for route in router(ServerSettings(enable_scale_out=True)).routes
    if isinstance(route, APIRoute) and "POST" in route.methods
]
PATHS = sorted({route.path.replace("{response_id}", "resp_x") for route in ROUTES})
VALID: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": QUESTION,
    "/v1/completions": {"prompt": "a"},
    "/v1/responses": {"input": "a"},
    "/v1/messages": QUESTION | {"max_tokens": 4},
    "/v1/embeddings": {"input": "a"},
    "/tokenize": {"prompt": "a"},
    "/rerank": {"query": "a", "documents": ["b"]},
    "/generative_scoring": {"query": "a", "items": ["b"], "label_token_ids": [1]},
    "/inference/v1/generate": {
        "token_ids": [70],
        "sampling_params": {"max_tokens": 4},
    },
    "/invocations": QUESTION,
}
HALF = "\ud800"
DEEP = "[" * 5000 + "]" * 5000
FIELDS = (
    "model",
    "messages",
    "prompt",
    "input",
    "stream",
    "max_tokens",
    "token_ids",
    "sampling_params",
    "query",
    "items",
    "documents",
    "text_1",
    "state",
    "questions",
    "generate_response",
    "chat_template_kwargs",
    "request_ids",
    "tokens",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "\ud800",
    "\x00",
    [],
    {},
    [[]],
    [{}],
    {"a": {}},
    [None],
)


@pytest.fixture
def serving_app(serving_container: Container) -> FastAPI:
    return app_of(serving_container, enable_scale_out=True)


def nonsense() -> list[bytes]:
    texts = ["", "{", "[]", "null", "1", '"x"', "NaN", DEEP, "{}", '{"model": 1}']
    bodies = [dict.fromkeys(FIELDS, value) for value in VALUES]
    talk = {"model": "tiny", "messages": [{"role": "user", "content": "a"}]}
    bodies += [talk | {"max_tokens": 4, field: VALUES[4]} for field in FIELDS]
    return [each.encode() for each in [*texts, *(json.dumps(b) for b in bodies)]]


@pytest.mark.parametrize("path", PATHS)
async def test_no_body_is_answered_with_a_server_error(
    serving_client: httpx.AsyncClient, path: str
) -> None:
    headers = {"content-type": "application/json"}
    for content in nonsense():
        response = await serving_client.post(path, content=content, headers=headers)
        told = f"{content[:200]!r}: {response.text[:500]}"
        assert response.status_code < 500, told
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/xml"):
        headers = {"content-type": kind}
        response = await serving_client.post(path, content=b"--x", headers=headers)
        assert response.status_code < 500


@pytest.mark.parametrize("path", VALID)
@pytest.mark.parametrize("field", ["model", "request_id", "user", "cache_salt"])
@pytest.mark.parametrize("stream", [False, True])
async def test_half_a_character_is_quoted_or_refused(
    serving_client: httpx.AsyncClient, path: str, field: str, *, stream: bool
) -> None:
    body = json.dumps(VALID[path] | {field: HALF, "stream": stream})
    headers = {"content-type": "application/json"}
    response = await serving_client.post(path, content=body, headers=headers)
    assert response.status_code < 500
    if response.headers["content-type"] == "application/json":
        assert response.json()
