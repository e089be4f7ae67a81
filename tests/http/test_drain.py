"""The end of a server: what is in flight goes on, then ends with notice."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import create_app
from app.flights import Flight, Flights
from app.service import STATE_ATTRIBUTE, Service
from containers.testing import FakeEngine, override
from tests.http.conftest import served
from tests.http.test_answers import QUESTION
from tests.http.test_disconnect import wait_until

LONG = QUESTION | {"max_tokens": 200}


class Ending:
    """An app with an endless answer in flight, and its drain in another thread."""

    def __init__(
        self, container: Container, engine: FakeEngine, *, stream: bool
    ) -> None:
        self.app = create_app(container)
        self.engine = engine
        self.body = LONG | {"stream": stream}
        self.response: httpx.Response | None = None

    @property
    def service(self) -> Service:
        found: Service = getattr(self.app.state, STATE_ATTRIBUTE)
        return found

    def run(self, *, timeout_s: float) -> float:
        """Seconds the drain took."""
        with TestClient(self.app) as client:
            thread = threading.Thread(target=self._ask, args=(client,))
            thread.start()
            wait_until(lambda: bool(self.engine.requests), within_s=20)
            began = time.monotonic()
            assert client.portal is not None
            client.portal.call(lambda: self.service.drain(timeout_s=timeout_s))
            took = time.monotonic() - began
            thread.join()
        return took

    def _ask(self, client: TestClient) -> None:
        self.response = client.post("/v1/chat/completions", json=self.body)


@pytest.fixture
def ending(serving_container: Container) -> Iterator[Callable[..., Ending]]:
    with ExitStack() as overrides:

        def make(engine: FakeEngine, *, stream: bool) -> Ending:
            overrides.enter_context(override(serving_container, engine=engine))
            return Ending(serving_container, engine, stream=stream)

        yield make


def sent_events(response: httpx.Response) -> list[Any]:
    *events, done = response.text.strip().split("\n\n")
    assert done == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


@pytest.mark.parametrize("stream", [False, True])
def test_what_ends_in_time_ends_well(
    ending: Callable[..., Ending], *, stream: bool
) -> None:
    case = ending(FakeEngine(["a "] * 20, delay_s=0.01), stream=stream)
    assert case.run(timeout_s=5.0) < 2.0
    assert case.response is not None
    assert case.response.status_code == 200
    assert "error" not in case.response.text
    assert case.engine.aborted == []


def test_a_stream_that_takes_longer_ends_with_an_error_event(
    ending: Callable[..., Ending],
) -> None:
    case = ending(FakeEngine(itertools.cycle(["a "]), delay_s=0.05), stream=True)
    assert 0.3 <= case.run(timeout_s=0.3) < 1.3
    assert case.response is not None
    *chunks, last = sent_events(case.response)
    assert chunks
    assert last["error"]["code"] == 503
    assert "shutting down" in last["error"]["message"]
    assert len(case.engine.aborted) == 1


def test_a_stream_without_a_token_yet_ends_with_an_error_event(
    ending: Callable[..., Ending],
) -> None:
    case = ending(FakeEngine("a", delay_s=30.0), stream=True)
    case.run(timeout_s=0.1)
    assert case.response is not None
    assert sent_events(case.response)[-1]["error"]["code"] == 503


def test_an_answer_that_takes_longer_is_503(ending: Callable[..., Ending]) -> None:
    case = ending(FakeEngine(itertools.cycle(["a "]), delay_s=0.05), stream=False)
    case.run(timeout_s=0.1)
    assert case.response is not None
    assert case.response.status_code == 503
    assert case.response.json()["error"]["type"] == "ServiceUnavailableError"
    assert len(case.engine.aborted) == 1


def test_the_port_answers_while_it_drains(
    serving_app: FastAPI,
) -> None:
    with served(serving_app) as url:
        wait_until(lambda: httpx.get(f"{url}/readyz").is_success, within_s=20)
        getattr(serving_app.state, STATE_ATTRIBUTE)._enter("draining")
        assert httpx.get(f"{url}/readyz").status_code == 503
        assert httpx.get(f"{url}/livez").status_code == 200


def test_a_stream_that_is_still_being_rendered_is_not_cut(
    ending: Callable[..., Ending],
) -> None:
    """Between its prompt and its first event a request is in flight all the time."""
    case = ending(FakeEngine(["a "] * 5, delay_s=0.1), stream=True)
    flights: list[int] = []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flights, "end", _noting_end(flights))
        assert case.run(timeout_s=5.0) < 3.0
    assert case.response is not None
    assert "error" not in case.response.text
    # The flight of the rendering ends inside that of the stream.
    assert flights == [1, 0]


def _noting_end(flights: list[int]) -> Callable[[Flights, Flight], None]:
    end = Flights.end

    def noting(self: Flights, flight: Flight) -> None:
        end(self, flight)
        flights.append(self.n)

    return noting
