"""What the routes answer when all is well."""

from __future__ import annotations

import json
from typing import Any

import httpx

from containers import __version__
from containers.testing import FakeEngine

QUESTION: dict[str, Any] = {
    "model": "tiny",
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
}


def events(response: httpx.Response) -> list[Any]:
    """Parsed server-sent events, without the last."""
    assert response.headers["content-type"].startswith("text/event-stream")
    *lines, done = [line[6:] for line in response.text.split("\n\n") if line]
    assert done == "[DONE]"
    return [json.loads(line) for line in lines]


async def test_chat(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine
) -> None:
    response = await serving_client.post("/v1/chat/completions", json=QUESTION)
    assert response.status_code == 200
    body = response.json()
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"]["content"] == "Paris."
    (request,) = serving_engine.requests
    assert body["usage"]["prompt_tokens"] == len(request.prompt_token_ids)
    assert request.state == "finished"


async def test_a_streamed_chat(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(
        "/v1/chat/completions",
        json=QUESTION | {"stream": True, "stream_options": {"include_usage": True}},
    )
    *chunks, usage = events(response)
    deltas = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks]
    assert "".join(deltas) == "Paris."
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] > 0


async def test_completions(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(
        "/v1/completions", json={"model": "tiny", "prompt": ["a", "b"], "n": 2}
    )
    assert [choice["text"] for choice in response.json()["choices"]] == ["Paris."] * 4


async def test_a_streamed_completion(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(
        "/v1/completions", json={"model": "tiny", "prompt": "a", "stream": True}
    )
    texts = [chunk["choices"][0]["text"] for chunk in events(response)]
    assert "".join(texts) == "Paris."


async def test_models(serving_client: httpx.AsyncClient) -> None:
    body = (await serving_client.get("/v1/models")).json()
    (card,) = body["data"]
    assert (card["id"], card["max_model_len"]) == ("tiny", 256)


async def test_tokenize_and_detokenize_are_inverse(
    serving_client: httpx.AsyncClient,
) -> None:
    tokens = await serving_client.post(
        "/tokenize", json={"model": "tiny", "prompt": "hello"}
    )
    text = await serving_client.post(
        "/detokenize", json={"model": "tiny", "tokens": tokens.json()["tokens"]}
    )
    assert text.json() == {"prompt": "hello"}


async def test_tokenizing_a_conversation_counts_the_prompt_of_its_chat(
    serving_client: httpx.AsyncClient,
) -> None:
    chat = await serving_client.post("/v1/chat/completions", json=QUESTION)
    tokens = await serving_client.post("/tokenize", json=QUESTION)
    assert tokens.json()["count"] == chat.json()["usage"]["prompt_tokens"]


async def test_health_asks_the_engine(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine
) -> None:
    assert (await serving_client.get("/health")).status_code == 200
    serving_engine.die()
    assert (await serving_client.get("/health")).status_code == 503


async def test_version(serving_client: httpx.AsyncClient) -> None:
    from containers.vllm_api import installed_version

    body = (await serving_client.get("/version")).json()
    assert body == {"version": installed_version(), "vllm_di": __version__}


async def test_metrics_are_prometheus_text(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert "# TYPE" in response.text


async def test_openapi_shows_the_models_of_vllm(
    serving_client: httpx.AsyncClient,
) -> None:
    document = (await serving_client.get("/openapi.json")).json()
    chat = document["paths"]["/v1/chat/completions"]["post"]
    reference = chat["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = document["components"]["schemas"][reference.rsplit("/", 1)[1]]
    assert "messages" in schema["properties"]
    answer = chat["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    assert answer.endswith("/ChatCompletionResponse")
    defined = document["components"]["schemas"]
    for reference in json.dumps(document).split('"#/components/schemas/')[1:]:
        assert reference.split('"')[0] in defined
