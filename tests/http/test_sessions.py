"""Sessions over a WebSocket: one line each, and counted, as requests are."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI, WebSocket
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient, WebSocketDenialResponse

from app import include_serving
from containers.log_format import FIELDS
from containers.testing import FakeEngine
from tests.http.collector import collecting
from tests.http.conftest import app_of
from tests.http.test_access_log import Lines, lines
from tests.http.test_audio import engine, hearing

__all__ = ["engine", "hearing", "lines"]

PATH = "/v1/realtime"
WHERE = f'model_name="tiny",route="{PATH}"'


@pytest.fixture
def client(hearing: Container) -> Iterator[TestClient]:
    with TestClient(app_of(hearing)) as client:
        yield client


def metrics(client: TestClient) -> dict[tuple[str, str], float]:
    """Values of the metrics of sessions, by name and code."""
    text = client.get("/metrics").text
    return {
        (sample.name, sample.labels.get("code", "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("route") == PATH and "session" in sample.name
    }


def test_a_session_is_one_line_with_its_code_seconds_and_model(
    client: TestClient, lines: Lines
) -> None:
    with client.websocket_connect(PATH, headers={"X-Request-Id": "talk-1"}) as socket:
        assert socket.receive_json()["type"] == "session.created"
        assert lines() == []
    (line,) = lines()
    assert (line["method"], line["path"], line["status"]) == ("GET", PATH, 101)
    assert line["close_code"] == 1000
    assert line["model"] == "tiny"
    assert line["seconds"] > 0
    assert "broken_off" not in line


def test_it_tells_the_tokens_of_all_that_was_said(
    client: TestClient, engine: FakeEngine, lines: Lines, monkeypatch: Any
) -> None:
    async def generate(prompt: Any, sampling_params: Any, request_id: str) -> Any:
        async for heard in prompt:
            spoken = {"prompt_token_ids": heard.prompt["prompt_token_ids"]}
            async for output in play(spoken, sampling_params, request_id):
                yield output

    play = engine.generate
    monkeypatch.setattr(engine, "generate", generate)
    with client.websocket_connect(PATH) as socket:
        socket.receive_json()
        socket.send_json({"type": "session.update", "model": "tiny"})
        sound = base64.b64encode(b"\0" * 3200).decode()
        socket.send_json({"type": "input_audio_buffer.append", "audio": sound})
        socket.send_json({"type": "input_audio_buffer.commit"})
        socket.send_json({"type": "input_audio_buffer.commit", "final": True})
        while socket.receive_json()["type"] != "transcription.done":
            pass
    (line,) = lines()
    assert line["completion_tokens"] > 0
    assert line["prompt_tokens"] > 0
    assert "Hello" not in str(line)


def test_sessions_are_counted_by_the_code_of_their_close(client: TestClient) -> None:
    assert metrics(client) == {}
    with client.websocket_connect(PATH) as socket:
        socket.receive_json()
        assert metrics(client) == {("vllm_di_sessions_open", ""): 1}
        text = client.get("/metrics").text
        assert f"vllm_di_requests_in_flight{{{WHERE}}}" not in text
    for code in (1001, 4242):
        with client.websocket_connect(PATH) as socket:
            socket.receive_json()
            socket.close(code)
    found = metrics(client)
    seconds = found.pop(("vllm_di_session_seconds_sum", ""))
    assert seconds > 0
    assert found == {
        ("vllm_di_sessions_open", ""): 0,
        ("vllm_di_session_seconds_count", ""): 3,
        ("vllm_di_sessions_total", "1000"): 1,
        ("vllm_di_sessions_total", "1001"): 1,
        ("vllm_di_sessions_total", "other"): 1,
    }


def test_the_code_of_a_server_that_ends_it_is_told(
    client: TestClient, lines: Lines
) -> None:
    service = getattr(client.app.state, "vllm_di")  # type: ignore[attr-defined]  # noqa: B009  # a FastAPI app
    with client.websocket_connect(PATH) as socket:
        socket.receive_json()
        assert client.portal is not None
        client.portal.call(lambda: service.drain(timeout_s=0.1))
        socket.receive_json()
        assert socket.receive()["code"] == 1001
    (line,) = lines()
    assert line["close_code"] == 1001


@pytest.mark.parametrize("status", [401, 404])
def test_a_handshake_that_is_refused_is_a_request_with_its_status(
    serving_container: Container, lines: Lines, status: int
) -> None:
    keys = {"api_keys": ["sk-secret"]} if status == 401 else {}
    with TestClient(app_of(serving_container, **keys)) as client:
        with pytest.raises(WebSocketDenialResponse), client.websocket_connect(PATH):
            pass
        text = client.get("/metrics", headers={"X-Api-Key": "sk-secret"}).text
    (line,) = [each for each in lines() if each["path"] == PATH]
    assert (line["method"], line["status"]) == ("GET", status)
    assert "close_code" not in line
    assert "vllm_di_sessions_total{" not in text
    route = PATH if status == 404 else ""
    assert f'method="GET",model_name="",route="{route}",status="{status}"' in text


def test_it_has_a_span_of_its_own(hearing: Container) -> None:
    with collecting() as collector:
        traces = {"endpoint": collector.url, "protocol": "http/protobuf"}
        with (
            TestClient(app_of(hearing, traces=traces)) as client,
            client.websocket_connect(PATH) as socket,
        ):
            socket.receive_json()
    span = collector.named(f"GET {PATH}")
    assert span.attributes["http.response.status_code"] == 101
    assert span.attributes["vllm_di.close_code"] == 1000


def test_lines_of_a_session_bear_its_id(
    hearing: Container, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vllm_di.access")
    with (
        TestClient(app_of(hearing)) as client,
        client.websocket_connect(PATH, headers={"X-Request-Id": "talk-1"}) as socket,
    ):
        socket.receive_json()
    (record,) = [each for each in caplog.records if hasattr(each, FIELDS)]
    assert "GET /v1/realtime 101 " in record.getMessage()


def test_a_hosts_own_sessions_are_none_of_ours(
    hearing: Container, lines: Lines
) -> None:
    app = FastAPI()
    include_serving(app, hearing, prefix="/llm")

    @app.websocket("/talk")
    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()

    with TestClient(app) as client:
        with client.websocket_connect("/talk") as socket:
            socket.receive()
        assert lines() == []
        with client.websocket_connect(f"/llm{PATH}") as socket:
            socket.receive_json()
    (line,) = lines()
    assert line["path"] == f"/llm{PATH}"
