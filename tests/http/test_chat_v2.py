"""Cohere's Chat API, where its package is installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI
from starlette.requests import Request

from app.shapes import ChatV2Shape
from containers.testing import FakeEngine
from containers.vllm_api import cohere
from tests.http.conftest import app_of

PATH = "/cohere/v2/chat"
TALK: dict[str, Any] = {
    "model": "tiny",
    "messages": [{"role": "user", "content": "Where?"}],
}
needs_cohere = pytest.mark.skipif(
    find_spec("cohere") is None, reason="the package cohere is not installed"
)


@pytest.fixture
def serving_app(
    serving_container: Container, monkeypatch: pytest.MonkeyPatch
) -> FastAPI:
    monkeypatch.setenv(cohere.SWITCH, "1")
    return app_of(serving_container, enable_scale_out=True)


@needs_cohere
async def test_a_chat(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(PATH, json=TALK)
    assert response.status_code == 200, response.text
    body = response.json()
    assert body["message"]["content"] == [{"type": "text", "text": "Paris."}]
    assert body["finish_reason"] == "COMPLETE"


@needs_cohere
async def test_a_streamed_chat(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(PATH, json=TALK | {"stream": True})
    *events, done = response.text.strip().split("\n\n")
    kinds = [json.loads(each.removeprefix("data: "))["type"] for each in events]
    assert (kinds[0], kinds[-1]) == ("message-start", "message-end")
    assert done == "data: [DONE]"


@needs_cohere
async def test_it_is_rendered_as_it_is_asked(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine
) -> None:
    rendered = (await serving_client.post(f"{PATH}/render", json=TALK)).json()
    await serving_client.post(PATH, json=TALK)
    (request,) = serving_engine.requests
    assert rendered["token_ids"] == list(request.prompt_token_ids)


@needs_cohere
@pytest.mark.parametrize(
    ("body", "status"), [(TALK | {"model": "none"}, 404), ({"messages": 5}, 400)]
)
async def test_errors_have_coheres_shape(
    serving_client: httpx.AsyncClient, body: dict[str, Any], status: int
) -> None:
    headers = {"X-Request-Id": "mine"}
    response = await serving_client.post(PATH, json=body, headers=headers)
    assert response.status_code == status
    assert set(response.json()) <= {"message", "id"}


async def test_without_the_package_there_is_no_such_route(
    serving_client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cohere, "find_spec", lambda _: None)
    assert not cohere.is_cohere_enabled()
    if find_spec("cohere") is None:
        assert (await serving_client.post(PATH, json=TALK)).status_code == 404


@pytest.mark.parametrize(
    ("value", "is_enabled"), [("1", True), ("0", False), ("", False)]
)
def test_it_is_enabled_by_vllms_variable(
    monkeypatch: pytest.MonkeyPatch, value: str, *, is_enabled: bool
) -> None:
    monkeypatch.setattr(cohere, "find_spec", lambda _: object())
    monkeypatch.setenv(cohere.SWITCH, value)
    assert cohere.is_cohere_enabled() is is_enabled


def test_a_stream_that_is_cut_ends_its_message() -> None:
    shape = ChatV2Shape(Request({"type": "http", "headers": []}))
    error = {"message": "Going.", "type": "x", "param": None, "code": 503}
    last, done, _ = shape.last_words(error).split("\n\n")
    assert json.loads(last.removeprefix("data: ")) == {
        "type": "message-end",
        "delta": {"finish_reason": "ERROR", "error": "Going."},
    }
    assert done == "data: [DONE]"
    assert shape.error(error) == {"message": "Going."}
