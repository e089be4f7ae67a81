"""A field of a wrong type is the client's fault, whatever the field and the route."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI

from containers.testing import FakeEngine, override
from tests.http.conftest import app_of
from tests.http.test_answers import QUESTION
from tests.http.test_errors import error_of

MESSAGES = QUESTION["messages"]
CHAT = "/v1/chat/completions"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": MESSAGES},
    f"{CHAT}/batch": {"messages": [MESSAGES]},
    f"{CHAT}/render": {"messages": MESSAGES},
    "/v1/completions": {"prompt": "hello"},
    "/v1/completions/render": {"prompt": "hello"},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 1},
    "/v1/messages/count_tokens": {"messages": MESSAGES},
    "/v1/responses": {"input": "hello"},
    "/generative_scoring": {"query": "a", "items": ["b"], "label_token_ids": [1]},
    "/inference/v1/generate": {"token_ids": [5], "sampling_params": {"max_tokens": 1}},
    "/tokenize": {"prompt": "hello"},
    "/detokenize": {"tokens": [5]},
}
VALUES: list[Any] = [None, True, 7, -1, 0.5, "", "x", [], [None], [{}], {}, {"x": []}]


@pytest.fixture
def serving_app(serving_container: Container) -> FastAPI:
    return app_of(serving_container, enable_scale_out=True)


def fields(document: Any, path: str) -> set[str]:
    """Names of all fields that a route's body may have."""
    post = document["paths"][path]["post"]
    content = post.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    return {*_fields(document, schema)} | {*BODIES[path]}


def _fields(document: Any, schema: Any) -> Iterator[str]:
    yield from schema.get("properties", {})
    for kind in schema.get("anyOf", []):
        yield from _fields(document, kind)
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        yield from _fields(document, document["components"]["schemas"][name])


@pytest.mark.parametrize("path", BODIES)
async def test_no_value_of_any_field_is_the_servers_fault(
    serving_client: httpx.AsyncClient, path: str
) -> None:
    await serving_client.get("/v1/models")  # vLLM is loaded by then, and so documented
    document = (await serving_client.get("/openapi.json")).json()
    names = fields(document, path)
    assert len(names) > 1
    faults = []
    for name in sorted(names - {"stream"}):
        for value in VALUES:
            body = {"model": "tiny"} | BODIES[path] | {name: value}
            response = await serving_client.post(path, json=body)
            if response.status_code >= 500:
                faults.append(f"{name}={value!r}: {response.text[:200]}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("value", [[], "x", 7, True])
async def test_a_wrong_type_that_vllm_stumbles_over_is_400(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine, value: Any
) -> None:
    body = QUESTION | {"structured_outputs": value}
    error = error_of(await serving_client.post(CHAT, json=body), 400)
    assert "wrong type" in error["message"] or "structured_outputs" in error["message"]
    assert serving_engine.requests == []


async def test_parameters_the_engines_client_refuses_are_400(
    serving_client: httpx.AsyncClient, serving_container: Container
) -> None:
    def process_inputs(_: Any) -> str:
        raise ValueError("such tokens there are none")

    with override(serving_container, engine=FakeEngine(process_inputs)):
        error = error_of(await serving_client.post(CHAT, json=QUESTION), 400)
    assert error["message"] == "such tokens there are none"
