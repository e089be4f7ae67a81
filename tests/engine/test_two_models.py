"""The two bundled models side by side in one server, each with a real engine."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.engine.servers import CHAT, POOLING

pytestmark = pytest.mark.engine

TEXTS = ["a cat sat", "a kitten sat", "quantum physics"]
QUESTION = {
    "model": CHAT["name"],
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
}


def answered(client: httpx.Client, path: str, **body: Any) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def vectors(client: httpx.Client, texts: list[str]) -> list[list[float]]:
    answer = answered(client, "/v1/embeddings", model=POOLING["name"], input=texts)
    return [each["embedding"] for each in answer["data"]]


def cosine(one: list[float], other: list[float]) -> float:
    """Of vectors of length one."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def metric(client: httpx.Client, name: str) -> dict[str, float]:
    """Values of a metric, by the model's name, other labels summed up."""
    found: dict[str, float] = {}
    pattern = rf'^{name}{{.*model_name="(\w+)".*}} (\S+)$'
    for model, value in re.findall(pattern, client.get("/metrics").text, re.MULTILINE):
        found[model] = found.get(model, 0.0) + float(value)
    return found


def test_each_answers_what_it_is_for(ours: httpx.Client) -> None:
    chat = answered(ours, "/v1/chat/completions", **QUESTION)
    assert "Paris" in chat["choices"][0]["message"]["content"]
    first, second, third = vectors(ours, TEXTS)
    assert cosine(first, second) > 0.7
    assert cosine(first, third) < 0.2


def test_vectors_are_those_of_vllms_own_server(
    ours: httpx.Client, stock_pooling: httpx.Client
) -> None:
    mine, theirs = vectors(ours, TEXTS), vectors(stock_pooling, TEXTS)
    for one, other in zip(mine, theirs, strict=True):
        assert len(one) == len(other) == 384
        assert cosine(one, other) == pytest.approx(1, abs=1e-4)


def test_scores_and_ranks_too(ours: httpx.Client, stock_pooling: httpx.Client) -> None:
    ask = {"model": POOLING["name"], "query": TEXTS[0], "documents": TEXTS[:0:-1]}
    mine, theirs = (
        answered(client, "/v2/rerank", **ask)["results"]
        for client in (ours, stock_pooling)
    )
    assert [each["document"]["text"] for each in mine] == TEXTS[1:]
    assert [each["index"] for each in mine] == [each["index"] for each in theirs]
    for one, other in zip(mine, theirs, strict=True):
        assert one["relevance_score"] == pytest.approx(
            other["relevance_score"], abs=1e-3
        )


def test_a_wrong_task_is_404_and_the_next_chat_is_answered(ours: httpx.Client) -> None:
    wrong = ours.post("/v1/embeddings", json={"model": CHAT["name"], "input": "a"})
    assert wrong.status_code == 404
    assert POOLING["name"] in wrong.json()["error"]["message"]
    wrong = ours.post(
        "/v1/chat/completions", json=QUESTION | {"model": POOLING["name"]}
    )
    assert wrong.status_code == 404
    assert CHAT["name"] in wrong.json()["error"]["message"]
    answered(ours, "/v1/chat/completions", **QUESTION)


@pytest.mark.parametrize(
    "given",
    [
        {"input": [[]]},
        {"input": [-1]},
        {"input": [10**9]},
        {"input": [2**70]},
        {"input": "a", "truncate_prompt_tokens": 0},
    ],
    ids=str,
)
def test_prompts_the_engine_cannot_take_are_400(
    ours: httpx.Client, given: dict[str, Any]
) -> None:
    response = ours.post("/v1/embeddings", json={"model": POOLING["name"], **given})
    assert response.status_code == 400, response.text
    assert len(vectors(ours, ["a"])) == 1


def test_both_work_at_once_and_are_measured_by_name(ours: httpx.Client) -> None:
    before = metric(ours, "vllm:request_success_total")
    with ThreadPoolExecutor(4) as pool:
        chats = [
            pool.submit(answered, ours, "/v1/chat/completions", **QUESTION)
            for _ in range(2)
        ]
        embeddings = [pool.submit(vectors, ours, TEXTS) for _ in range(2)]
        assert all(each.result() for each in [*chats, *embeddings])
    after = metric(ours, "vllm:request_success_total")
    assert set(after) == {CHAT["name"], POOLING["name"]}
    assert after[CHAT["name"]] - before[CHAT["name"]] >= 2
    assert after[POOLING["name"]] - before[POOLING["name"]] >= 2 * len(TEXTS)
    assert set(metric(ours, "vllm:num_requests_running")) == set(after)
