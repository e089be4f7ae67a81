"""The events of each API when a stream cannot go on, and when nobody reads it."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from pydantic import BaseModel
from starlette.testclient import TestClient
from starlette.types import Message

from app.answers import EventStream
from app.flights import Flights
from app.service import STATE_ATTRIBUTE
from app.shapes import ResponsesShape
from containers.testing import FakeEngine, override
from tests.http.conftest import app_of, served
from tests.http.test_disconnect import WITHIN_S, send, wait_until
from tests.http.test_messages import BODY as MESSAGE
from tests.http.test_responses import INPUT

TOKENS = {
    "model": "tiny",
    "token_ids": [70, 71],
    "sampling_params": {"max_tokens": 200, "ignore_eos": True},
}
STREAMS: dict[str, dict[str, Any]] = {
    "/v1/responses": INPUT | {"max_output_tokens": 200},
    "/v1/messages": MESSAGE | {"max_tokens": 200},
    "/inference/v1/generate": TOKENS,
}
SCALE_OUT = {"enable_scale_out": True}


class Event(BaseModel):
    type: str = "response.created"
    sequence_number: int


def last_events(path: str, text: str) -> list[str]:
    events = text.strip().split("\n\n")
    return events[-2:] if path == "/inference/v1/generate" else events[-1:]


def cut_answer(
    container: Container, engine: FakeEngine, path: str, *, stream: bool
) -> httpx.Response:
    """What a client gets whose request is in flight when time is up."""
    answers: list[httpx.Response] = []
    app = app_of(container, **SCALE_OUT)
    with override(container, engine=engine), TestClient(app) as client:
        body = STREAMS[path] | {"stream": stream}
        asking = threading.Thread(
            target=lambda: answers.append(client.post(path, json=body))
        )
        asking.start()
        wait_until(lambda: bool(engine.requests), within_s=20)
        service = getattr(app.state, STATE_ATTRIBUTE)
        assert client.portal is not None
        client.portal.call(lambda: service.drain(timeout_s=0.3))
        asking.join()
    return answers[0]


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_that_is_cut_ends_with_the_apis_own_error_event(
    serving_container: Container, path: str
) -> None:
    engine = FakeEngine(itertools.cycle(["a "]), delay_s=0.05)
    text = cut_answer(serving_container, engine, path, stream=True).text
    last, *done = last_events(path, text)
    data = json.loads(last.split("data: ")[1])
    if path == "/inference/v1/generate":
        assert done == ["data: [DONE]"]
        assert data["error"]["code"] == 503
        return
    assert last.startswith("event: error\n")
    assert data["type"] == "error"
    if path == "/v1/messages":
        assert data["error"]["type"] == "ServiceUnavailableError"
        assert "shutting down" in data["error"]["message"]
        return
    assert data["code"] == "503"
    numbers = [int(each) for each in re.findall(r'"sequence_number":\s*(\d+)', text)]
    *sent, own = numbers
    assert len(numbers) == text.count("event: ")
    assert own == data["sequence_number"] == sent[-1] + 1, numbers


async def test_an_event_made_but_not_sent_is_not_counted() -> None:
    async def results() -> AsyncGenerator[Any, None]:
        for number in range(5):
            yield Event(sequence_number=number)

    shape = ResponsesShape()
    events = shape.events(results())
    shape.sent((await anext(events)).encode())
    await anext(events)
    shape.sent(b": keep-alive\n\n")
    last_words = shape.last_words({"code": 503, "message": "", "param": None})
    assert json.loads(last_words.split("data: ")[1])["sequence_number"] == 1
    await events.aclose()


async def test_a_reader_that_stops_holds_up_what_makes_the_events() -> None:
    made: list[int] = []
    closed = asyncio.Event()

    async def events() -> AsyncGenerator[str, None]:
        try:
            for number in itertools.count():
                made.append(number)
                yield f"data: {number}\n\n"
        finally:
            closed.set()

    async def receive() -> Message:
        await asyncio.sleep(0.1)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message.get("body"):
            await asyncio.Event().wait()

    stream = EventStream(events(), Flights(), keep_alive_interval_s=0.01)
    await asyncio.wait_for(stream({}, receive, send), 1.0)
    assert made == [0], "none is made that nobody takes"
    assert closed.is_set()


@pytest.mark.parametrize("path", STREAMS)
def test_an_answer_that_is_cut_is_503_in_the_apis_own_shape(
    serving_container: Container, path: str
) -> None:
    engine = FakeEngine(itertools.cycle(["a "]), delay_s=0.05)
    response = cut_answer(serving_container, engine, path, stream=False)
    assert response.status_code == 503
    assert response.headers["retry-after"]
    assert response.json()["error"]["type"] == "ServiceUnavailableError"
    assert ("type" in response.json()) == (path == "/v1/messages")
    assert len(engine.aborted) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_ends_its_generation(
    serving_container: Container, *, stream: bool
) -> None:
    engine = FakeEngine(itertools.cycle(["word "]), delay_s=0.02)
    app = app_of(serving_container, **SCALE_OUT)
    with override(serving_container, engine=engine), served(app) as url:
        wait_until(lambda: httpx.get(f"{url}/readyz").is_success, within_s=30)
        for number, (path, body) in enumerate(STREAMS.items(), start=1):
            connection = send(url, body | {"stream": stream}, path=path)
            wait_until(lambda n=number: len(engine.requests) == n, within_s=10)  # type: ignore[misc]  # bound at once
            time.sleep(0.1)
            connection.close()
            wait_until(lambda n=number: len(engine.aborted) == n, within_s=WITHIN_S)  # type: ignore[misc]  # as above
