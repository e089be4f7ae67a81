"""Our server answers what vLLM's own server answers to the same requests."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from containers import vllm_api
from tests.engine.corpus import SAMPLES, Sample
from tests.engine.deliberate import TOLD_OTHERWISE, expected
from tests.engine.masking import comparable, differences, kind_of

pytestmark = pytest.mark.engine

DECISIONS = "/v1/systemone"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_answers_equal_those_of_the_stock_server(
    sample: Sample,
    ours: httpx.Client,
    stock: httpx.Client,
    stock_pooling: httpx.Client,
) -> None:
    if sample.path == DECISIONS and not vllm_api.offers("ServingStructuredDecisions"):
        pytest.skip("this release has no such route")
    other = stock_pooling if sample.pools else stock
    with ThreadPoolExecutor() as threads:
        mine, theirs = map(comparable, threads.map(sample.send, [ours, other]))
    theirs = expected(sample, theirs)
    if sample.name in TOLD_OTHERWISE:
        mine["body"] = theirs["body"] = "in other words"
    found = [*differences(mine, theirs, kind_of(theirs))]
    assert not found, "\n".join([sample.name, *found])


def test_models_are_listed_as_each_stock_server_lists_its_own(
    ours: httpx.Client, stock: httpx.Client, stock_pooling: httpx.Client
) -> None:
    mine, *theirs = (
        comparable(client.get("/v1/models"))["body"]
        for client in (ours, stock, stock_pooling)
    )
    assert mine["data"] == [card for cards in theirs for card in cards["data"]]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/chat/completions"),
        ("DELETE", "/tokenize"),
        ("POST", "/health"),
        ("GET", "/no/such/path"),
    ],
)
def test_refusals_of_the_framework_have_openais_shape(
    method: str, path: str, ours: httpx.Client, stock: httpx.Client
) -> None:
    mine, theirs = ours.request(method, path), stock.request(method, path)
    assert mine.status_code == theirs.status_code
    assert mine.headers.get("allow") == theirs.headers.get("allow")
    error = mine.json()["error"]
    assert error == {
        "message": theirs.json()["detail"],
        "type": theirs.reason_phrase,
        "param": None,
        "code": theirs.status_code,
    }


def test_the_corpus_names_every_sample_once() -> None:
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES)


def _answer(body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


def _stream(*texts: str) -> httpx.Response:
    events = [f'{{"choices": [{{"index": 0, "text": "{text}"}}]}}' for text in texts]
    body = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
    return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})


def _response(*deltas: tuple[str, tuple[str, ...]]) -> httpx.Response:
    """A stream of the Responses API: texts, and the tokens they have logprobs of."""
    body = ""
    for text, tokens in deltas:
        logprobs = [{"token": token, "logprob": -1.0} for token in tokens]
        event = json.dumps({"delta": text, "logprobs": logprobs})
        body += f"event: response.output_text.delta\ndata: {event}\n\n"
    return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            _answer({"id": "cmpl-0123456789abcdef"}),
            _answer({"id": "x-0123456789abcdef"}),
        ),
        (_answer({"n": 1}), _answer({"n": True})),
        (_answer({"n": 1}), _answer({"n": 1, "m": None})),
        (_answer([1]), _answer([1, 2])),
        (_stream("a", "b"), _stream("a", "c")),
        (_stream("a", "b"), _answer({"choices": []})),
        (_response(("ab", ("a", "b"))), _response(("ab", ("a",)))),
        (_response(("ab", ("a", "b"))), _response(("ab", ("a", "c", "")))),
        (httpx.Response(200), httpx.Response(400)),
    ],
)
def test_masking_hides_no_difference(
    first: httpx.Response, second: httpx.Response
) -> None:
    assert [*differences(comparable(first), comparable(second))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            _answer({"id": "cmpl-0123456789abcdef", "created": 1}),
            _answer({"id": "cmpl-fedcba9876543210", "created": 2}),
        ),
        (_stream("a", "b", "c"), _stream("ab", "c")),
        (_response(("a", ("a",)), ("b", ("b",))), _response(("ab", ("a", "b", "")))),
    ],
)
def test_masking_hides_ids_times_and_chunk_borders(
    first: httpx.Response, second: httpx.Response
) -> None:
    assert not [*differences(comparable(first), comparable(second))]
