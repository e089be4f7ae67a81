"""Embeddings over HTTP: what goes in, in what shape it comes out, what is refused."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.pooling_models import serving

N_DIMENSIONS = 8


@pytest.fixture(scope="module")
def client(tiny_folder: Path) -> Iterator[TestClient]:
    with serving(tiny_folder, "vectors", "nested") as client:
        yield client


def embed(client: TestClient, **body: Any) -> list[dict[str, Any]]:
    response = client.post("/v1/embeddings", json=body)
    assert response.status_code == 200, response.text
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def refused(client: TestClient, path: str = "/v1/embeddings", **body: Any) -> Any:
    kind = {"content-type": "application/json"}
    response = client.post(path, content=json.dumps(body), headers=kind)
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["code"] == 400
    return error


def test_a_text_becomes_a_vector_of_length_one(client: TestClient) -> None:
    response = client.post("/v1/embeddings", json={"model": "vectors", "input": "a"})
    answer = response.json()
    (data,) = answer["data"]
    assert (answer["object"], answer["model"]) == ("list", "vectors")
    assert (data["object"], data["index"]) == ("embedding", 0)
    assert math.hypot(*data["embedding"]) == pytest.approx(1)
    assert answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"] > 0


def test_texts_keep_their_order_and_equal_ones_their_vector(client: TestClient) -> None:
    data = embed(client, input=["one", "two", "one"])
    vectors = [each["embedding"] for each in data]
    assert [each["index"] for each in data] == [0, 1, 2]
    assert vectors[0] == vectors[2] != vectors[1]


def test_token_ids_are_taken_as_they_are(client: TestClient) -> None:
    tokens = client.post("/tokenize", json={"prompt": "one", "model": "vectors"})
    ids = tokens.json()["tokens"]
    (by_text,) = embed(client, input="one")
    (by_ids,) = embed(client, input=ids)
    listed = embed(client, input=[ids, ids])
    assert by_ids["embedding"] == by_text["embedding"]
    assert [each["embedding"] for each in listed] == [by_text["embedding"]] * 2


def test_messages_go_through_the_injected_template(client: TestClient) -> None:
    messages = [{"role": "user", "content": "one"}]
    rendered = client.post("/tokenize", json={"messages": messages, "model": "vectors"})
    ids = rendered.json()["tokens"]
    (data,) = embed(client, messages=messages, add_generation_prompt=True)
    (by_ids,) = embed(client, input=ids)
    assert data["embedding"] == by_ids["embedding"]


def in_32_bits(numbers: Sequence[float]) -> list[float]:
    """What the numbers stand for: from 0.33 on vLLM writes them with fewer digits."""
    return [
        *struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers))
    ]


def test_base64_holds_the_same_numbers(client: TestClient) -> None:
    (plain,) = embed(client, input="one")
    (coded,) = embed(client, input="one", encoding_format="base64")
    numbers = struct.unpack("<8f", base64.b64decode(coded["embedding"]))
    assert list(numbers) == in_32_bits(plain["embedding"])


@pytest.mark.parametrize("encoding", ["bytes", "bytes_only"])
@pytest.mark.parametrize("path", ["/v1/embeddings", "/pooling"])
def test_bytes_hold_them_one_after_the_other(
    client: TestClient, path: str, encoding: str
) -> None:
    vectors = [each["embedding"] for each in embed(client, input=["one", "two"])]
    body = {"model": "vectors", "input": ["one", "two"], "encoding_format": encoding}
    response = client.post(path, json=body)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/octet-stream"
    numbers = [*vectors[0], *vectors[1]]
    assert [*struct.unpack("<16f", response.content)] == in_32_bits(numbers)
    if encoding == "bytes_only":
        assert "metadata" not in response.headers
        return
    metadata = json.loads(response.headers["metadata"])
    assert metadata["model"] == "vectors"
    places = [(each["start"], each["end"]) for each in metadata["data"]]
    assert places == [(0, 32), (32, 64)]


def test_dimensions_are_for_models_that_have_them(client: TestClient) -> None:
    (data,) = embed(client, model="nested", input="a", dimensions=4)
    assert len(data["embedding"]) == 4
    error = refused(client, model="vectors", input="a", dimensions=4)
    assert "does not support Matryoshka" in error["message"]


def test_a_long_text_is_refused_or_truncated_as_it_says(client: TestClient) -> None:
    long = "word " * 100
    assert "maximum context length is 64" in refused(client, input=long)["message"]
    response = client.post(
        "/v1/embeddings", json={"input": long, "truncate_prompt_tokens": 10}
    )
    assert response.json()["usage"]["prompt_tokens"] == 10
    at_most = client.post(
        "/v1/embeddings", json={"input": long, "truncate_prompt_tokens": -1}
    )
    assert at_most.json()["usage"]["prompt_tokens"] == 64
    error = refused(client, input=long, truncate_prompt_tokens=65)
    assert "greater than max_model_len" in error["message"]


def test_cohere_asks_in_its_own_words(client: TestClient) -> None:
    (data,) = embed(client, input="one")
    body = {
        "model": "vectors",
        "texts": ["one"],
        "embedding_types": ["float", "ubinary"],
    }
    answer = client.post("/v2/embed", json=body).json()
    (vector,) = answer["embeddings"]["float"]
    assert in_32_bits(vector) == in_32_bits(data["embedding"])
    assert len(answer["embeddings"]["ubinary"][0]) == N_DIMENSIONS // 8
    assert answer["texts"] == ["one"]


BAD: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no input": {"model": "vectors"},
    "an empty list": {"input": []},
    "an object": {"input": {"a": 1}},
    "a number": {"input": 1},
    "texts and ids": {"input": ["a", 1]},
    "a lone surrogate": {"input": "\ud800"},
    "an unknown encoding": {"input": "a", "encoding_format": "morse"},
    "an unknown number format": {"input": "a", "embed_dtype": "float7"},
    "a negative truncation": {"input": "a", "truncate_prompt_tokens": -2},
    "a priority beyond 64 bits": {"input": "a", "priority": 2**70},
    "no dimensions": {"input": "a", "dimensions": 0},
    "messages that are none": {"messages": "hello"},
    "an image": {
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:,"}}],
            }
        ]
    },
    "a template of its own": {
        "messages": [{"role": "user", "content": "a"}],
        "chat_template": "{{ 1 }}",
    },
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_body_is_400(client: TestClient, what: str) -> None:
    refused(client, **BAD[what])


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b'"a"'])
def test_so_is_one_that_is_no_object(client: TestClient, body: bytes) -> None:
    kind = {"content-type": "application/json"}
    for path in ("/v1/embeddings", "/v2/embed"):
        response = client.post(path, content=body, headers=kind)
        assert response.status_code == 400, (path, response.text)


@pytest.mark.parametrize(
    "given", [{}, {"texts": []}, {"texts": ["a"], "images": ["b"]}]
)
def test_cohere_wants_exactly_one_input(
    client: TestClient, given: dict[str, Any]
) -> None:
    assert (
        "xactly one"
        in refused(client, "/v2/embed", model="vectors", **given)["message"]
    )


def test_a_failing_engine_is_told_in_the_same_shape(tiny_folder: Path) -> None:
    double = {"fails": RuntimeError("no room")}
    with serving(tiny_folder, "vectors", vectors=double) as client:
        response = client.post("/v1/embeddings", json={"input": "a"})
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (500, 500)
        assert error["type"] == "InternalServerError"
