"""One line for each request, with what is known of it and nothing it says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import include_serving
from app.metrics import RequestCounts
from app.middleware import Observation
from containers import ServerSettings
from containers.log_format import FIELDS
from containers.testing import FakeEngine
from tests.http.conftest import app_of
from tests.http.in_process import eventually

CHAT = "/v1/chat/completions"
PROMPT = "the-text-of-a-prompt"
QUESTION = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 3}
LOGGER = "vllm_di.access"
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """Fields of the lines written so far."""
    caplog.set_level(logging.INFO, LOGGER)
    return lambda: [
        getattr(record, FIELDS) for record in caplog.records if record.name == LOGGER
    ]


API: dict[str, dict[str, Any]] = {
    CHAT: QUESTION,
    "/v1/completions": {"prompt": PROMPT, "max_tokens": 3},
    "/v1/responses": {"input": PROMPT, "max_output_tokens": 3},
    "/v1/messages": QUESTION | {"model": "tiny"},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", API)
async def test_each_api_tells_model_tokens_times_and_finish(
    serving_client: httpx.AsyncClient, lines: Lines, path: str, stream: bool
) -> None:
    body = API[path] | {"stream": stream}
    assert (await serving_client.post(path, json=body)).status_code == 200
    (line,) = lines()
    assert (line["method"], line["path"], line["status"]) == ("POST", path, 200)
    assert line["model"] == "tiny"
    assert line["prompt_tokens"] > 3
    assert 0 < line["completion_tokens"] <= 3
    assert line["finish"] in ("stop", "length")
    assert line["seconds"] > 0
    assert ("first_token_s" in line) == line.get("stream", False) == stream
    assert PROMPT not in str(line)


async def test_what_is_refused_tells_its_status_alone(
    serving_client: httpx.AsyncClient, lines: Lines
) -> None:
    await serving_client.post(CHAT, json={"messages": PROMPT})
    await serving_client.get("/nowhere?key=secret")
    first, second = lines()
    assert first["status"] == 400
    assert (second["path"], second["status"]) == ("/nowhere", 404)
    for line in (first, second):
        assert {"model", "prompt_tokens", "finish"}.isdisjoint(line)


async def test_a_client_that_left_is_told_with_the_tokens_until_then(
    serving_client: httpx.AsyncClient, serving_engine: FakeEngine, lines: Lines
) -> None:
    await serving_engine.pause_generation(mode="keep")
    asking = asyncio.create_task(serving_client.post(CHAT, json=QUESTION))
    await eventually(lambda: serving_engine.requests)
    asking.cancel()
    await asyncio.wait([asking])
    await eventually(lines)
    (line,) = lines()
    assert line["model"] == "tiny"
    assert line["completion_tokens"] == 0
    assert "finish" not in line


def test_the_name_of_the_key_is_told_and_the_key_is_not(
    serving_container: Container, lines: Lines
) -> None:
    keys = [{"name": "team-a", "key": "sk-secret"}]
    with TestClient(app_of(serving_container, api_keys=keys)) as client:
        client.post(CHAT, json=QUESTION, headers={"X-Api-Key": "sk-secret"})
        client.post(CHAT, json=QUESTION, headers={"X-Api-Key": "sk-wrong"})
    right, wrong = lines()
    assert right["caller"] == "team-a"
    assert (wrong["status"], "caller" in wrong) == (401, False)
    assert "sk-" not in f"{right} {wrong}"


def test_probes_and_what_the_settings_leave_out_are_not_told(
    serving_container: Container, lines: Lines
) -> None:
    server = {"disable_access_log_for_endpoints": ["/v1/models"], "ui": True}
    with TestClient(app_of(serving_container, **server)) as client:
        for path in ("/livez", "/metrics", "/ui", "/ui/main.js", "/v1/models"):
            assert client.get(path).status_code == 200
    assert lines() == []


def test_nobody_writes_lines_of_their_own(
    serving_container: Container, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    steering = [(b"x-request-id", b"id\x9b31m")]
    with TestClient(app_of(serving_container)) as client:
        client.get("/a%0aERROR%1b[31m", headers=steering)
    (record,) = [each for each in caplog.records if each.name == LOGGER]
    assert record.getMessage().startswith("GET /a%0AERROR%1B%5B31m 404 ")
    made = Observation(ServerSettings(), RequestCounts(), None).begin(
        {"method": "GET", "path": "/", "headers": steering}
    )
    assert made.request_id.isalnum()


@pytest.mark.parametrize(
    "server", [{"logs": {"requests": False}}, {"disable_uvicorn_access_log": True}]
)
def test_off_no_line_is_written(
    serving_container: Container, lines: Lines, server: dict[str, Any]
) -> None:
    with TestClient(app_of(serving_container, **server)) as client:
        client.post(CHAT, json=QUESTION)
    assert lines() == []


def test_a_hosts_logging_stays_as_it_is(serving_container: Container) -> None:
    before = (logging.root.level, *logging.root.handlers)
    levels = [logging.getLogger(n).level for n in ("app", "containers", "vllm_di")]
    app = FastAPI()
    include_serving(app, serving_container)
    with TestClient(app) as client:
        assert client.post(CHAT, json=QUESTION).status_code == 200
    assert (logging.root.level, *logging.root.handlers) == before
    after = [logging.getLogger(n).level for n in ("app", "containers", "vllm_di")]
    assert levels == after
