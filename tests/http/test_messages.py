"""Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container

from containers.testing import FakeEngine, override
from tests.http.test_errors import JSON, error_of
from tests.http.test_responses import events_of

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
BODY: dict[str, Any] = {
    "model": "tiny",
    "max_tokens": 8,
    "messages": [{"role": "user", "content": "Where?"}],
}


def anthropic_error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error of an answer in Anthropic's shape."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"type", "error"}
    assert body["type"] == "error"
    error: dict[str, Any] = body["error"]
    assert set(error) == {"type", "message"}
    return error


async def test_a_message(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(MESSAGES, json=BODY)
    assert response.status_code == 200
    body = response.json()
    assert (body["type"], body["role"]) == ("message", "assistant")
    assert body["content"] == [{"type": "text", "text": "Paris."}]
    assert body["stop_reason"] == "end_turn"
    assert None not in body.values()


async def test_a_streamed_message(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(MESSAGES, json=BODY | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert [name for name, _ in events] == [data["type"] for _, data in events]
    texts = [d["delta"]["text"] for n, d in events if n == "content_block_delta"]
    assert "".join(texts) == "Paris."
    assert (events[0][0], events[-1][0]) == ("message_start", "message_stop")


async def test_tokens_are_counted_as_they_are_used(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine
) -> None:
    counted = (await serving_client.post(COUNT, json=BODY)).json()
    assert serving_engine.requests == []
    used = (await serving_client.post(MESSAGES, json=BODY)).json()
    assert counted["input_tokens"] == used["usage"]["input_tokens"]


@pytest.mark.parametrize("path", [MESSAGES, COUNT])
async def test_a_wrong_model_is_told_in_anthropics_shape(
    serving_client: httpx.AsyncClient, path: str
) -> None:
    response = await serving_client.post(path, json=BODY | {"model": "none"})
    assert anthropic_error_of(response, 404)["type"] == "NotFoundError"


@pytest.mark.parametrize("path", [MESSAGES, COUNT])
@pytest.mark.parametrize("content", ["{bad", "[]", "null", "", "{}"])
async def test_a_malformed_body_is_told_in_openais_shape_as_vllm_does(
    serving_client: httpx.AsyncClient, path: str, content: str
) -> None:
    error_of(await serving_client.post(path, content=content, headers=JSON), 400)


async def test_an_engine_that_fails_is_told_in_anthropics_shape(
    serving_container: Container, serving_client: httpx.AsyncClient
) -> None:
    broken = FakeEngine("a", fails=RuntimeError("broken"))
    with override(serving_container, engine=broken):
        whole = await serving_client.post(MESSAGES, json=BODY)
        stream = await serving_client.post(MESSAGES, json=BODY | {"stream": True})
    anthropic_error_of(whole, 500)
    name, data = events_of(stream.text)[-1]
    assert (name, data["type"]) == ("error", "error")


async def test_a_full_engine_is_503_in_anthropics_shape(
    serving_container: Container, serving_client: httpx.AsyncClient
) -> None:
    with override(serving_container, engine=FakeEngine(max_num_queued_reqs=0)):
        response = await serving_client.post(MESSAGES, json=BODY)
    anthropic_error_of(response, 503)
