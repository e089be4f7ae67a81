"""SageMaker's paths: one for every kind of request, and one that asks how it is."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from containers.testing import FakeEngine
from tests.http.test_answers import QUESTION
from tests.http.test_errors import JSON, error_of

PATH = "/invocations"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (QUESTION, "chat.completion"),
        ({"model": "tiny", "prompt": "a"}, "text_completion"),
        ({"prompt": "a"}, "text_completion"),
    ],
)
async def test_a_body_is_answered_by_its_kind(
    serving_client: httpx.AsyncClient, body: dict[str, Any], kind: str
) -> None:
    response = await serving_client.post(PATH, json=body)
    assert response.status_code == 200
    assert response.json()["object"] == kind


async def test_it_streams(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(PATH, json=QUESTION | {"stream": True})
    assert response.text.endswith("data: [DONE]\n\n")


async def test_an_unknown_model_is_404(serving_client: httpx.AsyncClient) -> None:
    body = QUESTION | {"model": "none"}
    assert error_of(await serving_client.post(PATH, json=body), 404)["param"] == "model"


@pytest.mark.parametrize("content", ["{bad", "[]", "null", '"x"', "", "NaN"])
async def test_a_malformed_body_is_400(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine, content: str
) -> None:
    error_of(await serving_client.post(PATH, content=content, headers=JSON), 400)
    assert serving_engine.requests == []


async def test_what_is_of_no_kind_is_told_those_there_are(
    serving_client: httpx.AsyncClient,
) -> None:
    body = {"prompt": "a", "n": "several"}
    error = error_of(await serving_client.post(PATH, json=body), 400)
    assert error["message"] == (
        "Cannot find suitable handler for request. Expected one of: "
        "['ChatCompletionRequest', 'CompletionRequest']"
    )


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_ping_is_health(serving_client: httpx.AsyncClient, method: str) -> None:
    response = await serving_client.request(method, "/ping")
    assert (response.status_code, response.content) == (200, b"")


async def test_ping_says_503_when_the_engine_is_dead(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine
) -> None:
    assert (await serving_client.get("/ping")).status_code == 200
    serving_engine.die()
    assert (await serving_client.get("/ping")).status_code == 503
