"""The engine's load in a header, for balancers that ask for it."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.http.test_answers import QUESTION

PROMPT = {"model": "tiny", "prompt": "a"}
ASK = "endpoint-load-metrics-format"
TELL = "endpoint-load-metrics"


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/chat/completions", QUESTION), ("/v1/completions", PROMPT)],
)
async def test_it_is_told_in_the_asked_format(
    serving_client: httpx.AsyncClient, path: str, body: dict[str, object]
) -> None:
    told = await serving_client.post(path, json=body, headers={ASK: "JSON"})
    kind, _, report = told.headers[TELL].partition(" ")
    assert kind == "JSON"
    assert set(json.loads(report)) == {"named_metrics"}
    text = await serving_client.post(path, json=body, headers={ASK: "text"})
    assert text.headers[TELL].startswith("TEXT")


@pytest.mark.parametrize("headers", [{}, {ASK: "XML"}, {ASK: ""}])
async def test_nobody_else_is_told(
    serving_client: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    answered = await serving_client.post(
        "/v1/chat/completions", json=QUESTION, headers=headers
    )
    assert TELL not in answered.headers


async def test_an_error_tells_no_load(serving_client: httpx.AsyncClient) -> None:
    refused = await serving_client.post(
        "/v1/chat/completions",
        json=QUESTION | {"model": "none"},
        headers={ASK: "JSON"},
    )
    assert TELL not in refused.headers
