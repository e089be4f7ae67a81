"""Probes in every state of an app's life."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI
from starlette.testclient import TestClient

from app import create_app
from app.service import STATE_ATTRIBUTE, Service
from containers import ModelSettings
from containers.errors import SourceError
from containers.testing import FakeEngine, override
from tests.http.test_answers import QUESTION
from tests.http.test_errors import error_of

PROBES = ("/livez", "/readyz", "/startupz", "/health")


def statuses(client: TestClient) -> tuple[int, ...]:
    return tuple(client.get(path).status_code for path in PROBES)


def service(client: TestClient) -> Service:
    found: Service = getattr(client.app.state, STATE_ATTRIBUTE)  # type: ignore[attr-defined]  # a FastAPI app
    return found


def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never came true")


@contextmanager
def loading(container: Container) -> Iterator[threading.Event]:
    """Make a container's model take until the event is set."""
    release = threading.Event()
    build = container.tokenizer.provides

    def slow(**injected: object) -> object:
        release.wait(10)
        return build(**injected)

    container.tokenizer.set_provides(slow)
    try:
        yield release
    finally:
        release.set()


def test_not_started(serving_app: FastAPI) -> None:
    assert statuses(TestClient(serving_app)) == (200, 503, 503, 503)


def test_starting_then_ready(serving_container: Container) -> None:
    with (
        loading(serving_container) as release,
        TestClient(create_app(serving_container, wait_until_ready=False)) as client,
    ):
        assert statuses(client) == (200, 503, 503, 503)
        assert client.get("/version").status_code == 200
        refused = client.post("/v1/chat/completions", json=QUESTION)
        error_of(refused, 503)
        assert int(refused.headers["retry-after"]) > 0
        body = client.get("/startupz").json()
        assert body["phase"] == "starting"
        assert body["elapsed_s"] >= 0
        states = {each["name"]: each["state"] for each in body["resources"]}
        assert states["serving_chat"] == "not started"
        release.set()
        eventually(lambda: client.get("/readyz").status_code == 200)
        assert statuses(client) == (200, 200, 200, 200)
        body = client.get("/startupz").json()
        seconds = {each["name"]: each["seconds"] for each in body["resources"]}
        assert seconds["tokenizer"] > 0
        assert client.post("/v1/chat/completions", json=QUESTION).is_success


def test_failed(serving_container: Container) -> None:
    def absent(**_: object) -> str:
        raise SourceError(source="x", reason="it is not there", hint="Find it.")

    serving_container.model.set_provides(absent)
    with TestClient(create_app(serving_container, wait_until_ready=False)) as client:
        eventually(lambda: service(client).state == "failed")
        assert statuses(client) == (200, 503, 503, 503)
        assert "it is not there" in client.get("/startupz").json()["error"]
        error_of(client.post("/v1/chat/completions", json=QUESTION), 503)


def test_engine_dead(serving_app: FastAPI, serving_engine: FakeEngine) -> None:
    with TestClient(serving_app) as client:
        assert statuses(client) == (200, 200, 200, 200)
        serving_engine.die()
        error_of(client.post("/v1/chat/completions", json=QUESTION), 503)
        assert client.get("/health").status_code == 503
        eventually(lambda: service(client).state == "engine dead")
        assert statuses(client) == (200, 503, 200, 503)
        assert client.get("/readyz").json()["status"] == "engine dead"
        error_of(client.post("/v1/chat/completions", json=QUESTION), 503)


def test_draining(serving_app: FastAPI) -> None:
    with TestClient(serving_app) as client:
        assert client.portal is not None
        client.portal.call(lambda: service(client).drain(timeout_s=1.0))
        assert statuses(client) == (200, 503, 200, 503)
        assert client.get("/readyz").json()["status"] == "draining"
        error_of(client.post("/v1/chat/completions", json=QUESTION), 503)


def test_ready_again_after_a_second_start(
    serving_app: FastAPI, serving_container: Container
) -> None:
    for _ in range(2):
        with (
            override(serving_container, engine=FakeEngine()),
            TestClient(serving_app) as client,
        ):
            assert statuses(client) == (200, 200, 200, 200)


@contextmanager
def watched(
    container: Container, *, timeout_s: float, **doubles: Any
) -> Iterator[TestClient]:
    """Client of an app whose engine is asked for a token again and again."""
    settings = container.settings().model_dump(exclude={"names"})
    settings["canary"] = {"interval_s": 0.01, "timeout_s": timeout_s}
    doubles["settings"] = ModelSettings.model_validate(settings)
    with (
        override(container, **doubles),
        TestClient(create_app(container)) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        ({"delay_s": 30.0}, "no answer within"),
        ({"fails": ValueError("no luck")}, "the canary failed"),
    ],
)
def test_a_canary_that_gets_no_token_makes_it_unready(
    serving_container: Container, fault: Any, trouble: str
) -> None:
    engine = FakeEngine(**fault)
    with watched(serving_container, timeout_s=0.2, engine=engine) as client:
        eventually(lambda: client.get("/readyz").status_code == 503)
        assert trouble in client.get("/readyz").json()["status"]
        assert client.get("/health").status_code == 503
        assert client.get("/livez").status_code == 200


def test_a_canary_that_gets_its_token_leaves_it_ready(
    serving_container: Container, serving_engine: FakeEngine
) -> None:
    with watched(serving_container, timeout_s=5.0) as client:
        eventually(lambda: len(serving_engine.requests) >= 3)
        assert client.get("/readyz").status_code == 200
        assert serving_engine.requests[0].request_id.startswith("canary-")
        assert serving_engine.requests[0].sampling_params.max_tokens == 1


async def test_probes_are_in_the_document(serving_client: httpx.AsyncClient) -> None:
    paths = (await serving_client.get("/openapi.json")).json()["paths"]
    assert set(PROBES) < set(paths)
