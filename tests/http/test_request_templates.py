"""Case 34: a template that a request brings is refused, wherever it hides.

A template is a program: it decides what the model is told, and it runs in the server.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI

from containers.testing import FakeEngine
from tests.http.conftest import app_of

EVIL = "{% for _ in range(9) %}evil{% endfor %}"
TALK = {"model": "tiny", "messages": [{"role": "user", "content": "Where?"}]}
MESSAGE = TALK | {"max_tokens": 8}
INPUT = {"model": "tiny", "input": "Where?"}
BATCH = {"model": "tiny", "messages": [TALK["messages"], TALK["messages"]]}

BY_FIELD = {
    "/v1/chat/completions": TALK,
    "/v1/chat/completions/batch": BATCH,
    "/v1/chat/completions/render": TALK,
    "/tokenize": TALK,
    "/invocations": TALK,
}
BY_KWARGS = BY_FIELD | {
    "/v1/responses": INPUT,
    "/v1/responses/render": INPUT,
    "/v1/messages": MESSAGE,
    "/v1/messages/count_tokens": MESSAGE,
    "/v1/messages/render": MESSAGE,
}
PLACES = [
    *((path, body | {"chat_template": EVIL}) for path, body in BY_FIELD.items()),
    *(
        (path, body | {"chat_template_kwargs": {"chat_template": EVIL}})
        for path, body in BY_KWARGS.items()
    ),
    ("/v1/chat/completions", TALK | {"extra_body": {"chat_template": EVIL}}),
]


@pytest.fixture
def serving_app(serving_container: Container) -> FastAPI:
    return app_of(serving_container, enable_scale_out=True)


@pytest.mark.parametrize(("path", "body"), PLACES[:-1])
async def test_it_is_refused_before_the_engine_hears_of_it(
    serving_client: httpx.AsyncClient,
    serving_engine: FakeEngine,
    path: str,
    body: dict[str, Any],
) -> None:
    response = await serving_client.post(path, json=body)
    assert response.status_code == 400, response.text
    assert "untrusted chat template" in response.json()["error"]["message"]
    assert serving_engine.requests == []


@pytest.mark.parametrize(("path", "body"), PLACES)
@pytest.mark.parametrize("stream", [False, True])
async def test_it_never_becomes_a_prompt(
    serving_client: httpx.AsyncClient,
    serving_engine: FakeEngine,
    path: str,
    body: dict[str, Any],
    *,
    stream: bool,
) -> None:
    response = await serving_client.post(path, json=body | {"stream": stream})
    assert response.status_code < 500
    assert all("evil" not in str(each.prompt) for each in serving_engine.requests)


async def test_a_default_of_the_template_may_still_be_set(
    serving_client: httpx.AsyncClient,
) -> None:
    body = TALK | {"chat_template_kwargs": {"chat_template": None, "mood": "good"}}
    response = await serving_client.post("/v1/chat/completions", json=body)
    assert response.status_code == 200
