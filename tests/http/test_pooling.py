"""Pooling, classes, scores and reranking over HTTP, and who can do which of them."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from containers import ModelSettings
from containers.resources import vllm_config
from containers.testing import tiny_model
from containers.vllm_api.behaviour import behaviour
from tests.http.pooling_models import KINDS, serving, settings_of

QUESTION = [{"role": "user", "content": "Where?"}]
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": QUESTION},
    "/v1/completions": {"prompt": "a"},
    "/v1/responses": {"input": "a"},
    "/v1/embeddings": {"input": "a"},
    "/v2/embed": {"texts": ["a"]},
    "/pooling": {"input": "a"},
    "/classify": {"input": "a"},
    "/score": {"queries": "a", "documents": ["b"]},
    "/v1/score": {"queries": "a", "documents": ["b"]},
    "/rerank": {"query": "a", "documents": ["b"]},
    "/v1/rerank": {"query": "a", "documents": ["b"]},
    "/v2/rerank": {"query": "a", "documents": ["b"]},
    "/tokenize": {"prompt": "a"},
}
_SCORES = {"/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank"}
_TEXTS = {"/v1/chat/completions", "/v1/completions", "/v1/responses"}
_VECTORS = {"/v1/embeddings", "/v2/embed"}
ABLE: dict[str, set[str]] = {
    "chat": _TEXTS,
    "vectors": {"/pooling"} | _VECTORS | _SCORES,
    "nested": {"/pooling"} | _VECTORS | _SCORES,
    "classes": {"/pooling", "/classify"},
    "pairs": {"/pooling", "/classify"} | _SCORES,
    "rows": {"/pooling"} | _SCORES,
}
"""Which of these paths a kind of model answers, beside ``/tokenize``."""


@pytest.fixture(scope="module")
def client(tiny_folder: Path) -> Iterator[TestClient]:
    with serving(tiny_folder, *KINDS) as client:
        yield client


def answered(client: TestClient, path: str, **body: Any) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", REQUESTS)
def test_a_model_answers_what_it_can_and_names_who_can_else(
    client: TestClient, kind: str, path: str
) -> None:
    response = client.post(path, json={"model": kind, **REQUESTS[path]})
    if path == "/tokenize" or path in ABLE[kind]:
        assert response.status_code == 200, response.text
        return
    error = response.json()["error"]
    able = [other for other in KINDS if path in ABLE[other]]
    assert (response.status_code, error["code"]) == (404, 404)
    assert (error["type"], error["param"]) == ("NotFoundError", "model")
    assert f"`{kind}` does not support" in error["message"]
    assert all(other in error["message"] for other in able)


def test_a_request_that_names_no_model_goes_to_the_first_who_can(
    client: TestClient,
) -> None:
    for path, body in REQUESTS.items():
        first = next(kind for kind in KINDS if path in ABLE[kind] or "token" in path)
        answer = answered(client, path, **body)
        assert answer.get("model", first) == first


def test_a_chat_after_a_wrong_task_is_answered(client: TestClient) -> None:
    wrong = client.post("/v1/embeddings", json={"model": "chat", "input": "a"})
    assert wrong.status_code == 404
    answer = answered(client, "/v1/chat/completions", model="chat", messages=QUESTION)
    assert answer["choices"][0]["message"]["content"] == "Paris."


@pytest.mark.parametrize("path", REQUESTS)
def test_an_unknown_model_is_404_and_told_the_served_ones(
    client: TestClient, path: str
) -> None:
    response = client.post(path, json={"model": "nobody", **REQUESTS[path]})
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (404, "model")
    assert error["message"].endswith(f"Valid aliases: {', '.join(KINDS)}.")


def test_a_pooling_model_alone_starts_without_a_warning(
    tiny_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    without_template = tiny_model(tmp_path, chat_template=None)
    with (
        caplog.at_level(logging.WARNING, "containers"),
        serving(without_template, "vectors") as client,
    ):
        assert [r.message for r in caplog.records if r.name[:10] == "containers"] == []
        assert answered(client, "/tokenize", prompt="a")["count"] > 0
        response = client.post("/v1/embeddings", json={"messages": QUESTION})
        assert response.status_code == 400


def test_classes_are_told_with_their_probabilities(client: TestClient) -> None:
    answer = answered(client, "/classify", model="classes", input=["one", "two"])
    assert [each["index"] for each in answer["data"]] == [0, 1]
    for each in answer["data"]:
        assert each["num_classes"] == len(each["probs"]) == 2
        assert math.fsum(each["probs"]) == pytest.approx(1)
        best = each["probs"].index(max(each["probs"]))
        assert each["label"] == f"LABEL_{best}"


@pytest.mark.parametrize("kind", ["vectors", "pairs", "rows"])
def test_scores_and_ranks_agree(client: TestClient, kind: str) -> None:
    documents = ["one", "two", "a third one"]
    scored = answered(client, "/score", model=kind, queries="one", documents=documents)[
        "data"
    ]
    scores = [each["score"] for each in scored]
    ranked = answered(
        client, "/v2/rerank", model=kind, query="one", documents=documents
    )["results"]
    assert [each["index"] for each in scored] == [0, 1, 2]
    assert {each["index"]: each["relevance_score"] for each in ranked} == dict(
        enumerate(scores)
    )
    assert [each["relevance_score"] for each in ranked] == sorted(scores, reverse=True)
    assert [each["document"]["text"] for each in ranked] == [
        documents[each["index"]] for each in ranked
    ]
    (best,) = answered(
        client, "/rerank", model=kind, query="one", documents=documents, top_n=1
    )["results"]
    assert best == ranked[0]


def test_equal_texts_have_the_highest_score_of_vectors(client: TestClient) -> None:
    body = {"model": "vectors", "text_1": "one", "text_2": ["one", "two"]}
    first, second = answered(client, "/score", **body)["data"]
    assert first["score"] == pytest.approx(1)
    assert second["score"] < 1


def test_pooling_gives_what_the_model_pools(client: TestClient) -> None:
    def pooled(kind: str) -> Any:
        return answered(client, "/pooling", model=kind, input="one two")["data"][0][
            "data"
        ]

    (vector,) = answered(client, "/v1/embeddings", model="vectors", input="one two")[
        "data"
    ]
    n_tokens = answered(client, "/tokenize", model="rows", prompt="one two")["count"]
    assert pooled("vectors") == pytest.approx(vector["embedding"], abs=1e-6)
    assert len(pooled("rows")) == n_tokens
    assert len(pooled("classes")) == 2


BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "a task it is not served for": ("/pooling", {"input": "a", "task": "token_embed"}),
    "a task it has not": ("/pooling", {"input": "a", "task": "classify"}),
    "a task nobody has": ("/pooling", {"input": "a", "task": "sing"}),
    "a plugin there is not": ("/pooling", {"data": {"a": 1}, "task": "plugin"}),
    "dimensions": ("/pooling", {"input": "a", "dimensions": 4}),
    "no pair": ("/score", {"queries": "a"}),
    "an empty side": ("/score", {"queries": [], "documents": ["a"]}),
    "sides that do not fit": ("/score", {"queries": ["a"] * 3, "documents": ["b"] * 2}),
    "a number": ("/score", {"queries": 1, "documents": 2}),
    "no documents": ("/rerank", {"query": "a", "documents": []}),
    "a negative top_n": ("/rerank", {"query": "a", "documents": ["b"], "top_n": -1}),
    "an image": (
        "/rerank",
        {
            "query": {
                "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]
            },
            "documents": ["b"],
        },
    ),
    "a query that is too long": ("/score", {"queries": "a " * 99, "documents": ["b"]}),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_body_is_400(client: TestClient, what: str) -> None:
    path, body = BAD[what]
    response = client.post(path, json={"model": "vectors", **body})
    assert response.status_code == 400, response.text
    assert response.json()["error"]["code"] == 400


@pytest.mark.parametrize("is_on", [True, False])
def test_where_tokens_are_compared_is_a_setting(tiny_folder: Path, is_on: bool) -> None:
    settings = settings_of("rows", tiny_folder).model_dump()
    settings["chat"]["enable_flash_late_interaction"] = is_on
    model = ModelSettings.model_validate(settings)
    config = vllm_config(settings=model, model=str(tiny_folder))
    half = getattr(
        config.model_config.pooler_config, "enable_flash_late_interaction", None
    )
    has_half = behaviour().pooler_has_flash_late_interaction
    assert half is (is_on if has_half else None)
    assert config.model_config.pooler_config.task == "token_embed"


def test_the_document_shows_them(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    content = paths["/v1/embeddings"]["post"]["responses"]["200"]["content"]
    assert set(content) == {"application/json", "application/octet-stream"}
    assert content["application/json"]["schema"]["$ref"].endswith("/EmbeddingResponse")
    assert set(paths) >= REQUESTS.keys()
