"""OpenAI's Responses API: answers, events, and responses that are stored."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from dependency_injector.containers import Container
from starlette.testclient import TestClient

from containers.testing import FakeEngine, override
from tests.http.test_errors import error_of
from tests.http.test_several_models import Models

INPUT: dict[str, Any] = {"model": "tiny", "input": "Where?"}
RESPONSES = "/v1/responses"


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and data of each event of a stream."""
    found = []
    for event in text.strip().split("\n\n"):
        name, data = event.split("\n")
        parsed = json.loads(data.removeprefix("data: "))
        found.append((name.removeprefix("event: "), parsed))
    return found


def text_of(response: dict[str, Any]) -> str:
    text: str = response["output"][0]["content"][0]["text"]
    return text


async def asked(engine: FakeEngine) -> None:
    """Wait until the engine has a request."""
    while not engine.requests:  # noqa: ASYNC110  # it runs on another loop
        await asyncio.sleep(0.01)


@pytest.fixture
def storing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let vLLM store responses, from the next start on."""
    monkeypatch.setenv("VLLM_ENABLE_RESPONSES_API_STORE", "1")


async def test_a_response(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(RESPONSES, json=INPUT)
    assert response.status_code == 200
    body = response.json()
    assert (body["object"], body["status"]) == ("response", "completed")
    assert text_of(body) == "Paris."


async def test_events_have_names_and_numbers(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.post(RESPONSES, json=INPUT | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert [name for name, _ in events] == [data["type"] for _, data in events]
    assert [data["sequence_number"] for _, data in events] == [*range(len(events))]
    deltas = [d["delta"] for name, d in events if name == "response.output_text.delta"]
    assert "".join(deltas) == "Paris."
    assert events[0][0] == "response.created"
    assert events[-1][0] == "response.completed"
    assert text_of(events[-1][1]["response"]) == "Paris."


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": 5}, "body.input"),
        ({"previous_response_id": "resp_none"}, "response_id"),
        ({"model": "none"}, "model"),
        ({"max_output_tokens": -1}, "max_tokens"),
    ],
)
async def test_what_is_wrong_is_told(
    serving_client: httpx.AsyncClient, fields: dict[str, Any], param: str
) -> None:
    response = await serving_client.post(RESPONSES, json=INPUT | fields)
    error = error_of(response, response.status_code)
    assert 400 <= response.status_code < 500
    assert param in str(error["param"])


async def test_an_engine_that_fails_is_told_in_the_stream_or_by_its_status(
    serving_container: Container, serving_client: httpx.AsyncClient
) -> None:
    broken = FakeEngine("a b c", fails=RuntimeError("broken"), fails_after_tokens=1)
    with override(serving_container, engine=broken):
        whole = await serving_client.post(RESPONSES, json=INPUT)
    assert whole.status_code == 500
    assert "error" in whole.json()


async def test_what_is_not_stored_is_404(serving_client: httpx.AsyncClient) -> None:
    for ask in (
        serving_client.get(f"{RESPONSES}/resp_none"),
        serving_client.get(f"{RESPONSES}/resp_none?stream=true&starting_after=1"),
        serving_client.post(f"{RESPONSES}/resp_none/cancel"),
    ):
        error = error_of(await ask, 404)
        assert error["param"] == "response_id"


async def test_a_bad_query_is_400(serving_client: httpx.AsyncClient) -> None:
    response = await serving_client.get(f"{RESPONSES}/resp_x?starting_after=first")
    assert error_of(response, 400)["param"] == "query.starting_after"


@pytest.mark.usefixtures("storing")
async def test_a_stored_response_is_given_again(
    serving_client: httpx.AsyncClient,
) -> None:
    made = (await serving_client.post(RESPONSES, json=INPUT)).json()
    path = f"{RESPONSES}/{made['id']}"
    assert (await serving_client.get(path)).json() == made
    error_of(await serving_client.post(f"{path}/cancel"), 400)
    refused = error_of(await serving_client.get(f"{path}?stream=true"), 400)
    assert refused["param"] == "stream"
    following = INPUT | {"previous_response_id": made["id"], "input": "And?"}
    assert (await serving_client.post(RESPONSES, json=following)).status_code == 200


@pytest.mark.usefixtures("storing")
async def test_events_of_the_background_are_given_from_any_place(
    serving_client: httpx.AsyncClient,
) -> None:
    body = INPUT | {"background": True, "stream": True}
    sent = events_of((await serving_client.post(RESPONSES, json=body)).text)
    path = f"{RESPONSES}/{sent[0][1]['response']['id']}?stream=true"
    assert events_of((await serving_client.get(path)).text) == sent
    later = await serving_client.get(f"{path}&starting_after=2")
    assert events_of(later.text) == sent[3:]
    before = await serving_client.get(f"{path}&starting_after=-9")
    assert events_of(before.text) == sent
    after = await serving_client.get(f"{path}&starting_after=99")
    assert (after.status_code, after.text) == (200, "")


@pytest.mark.usefixtures("storing")
async def test_a_response_of_the_background_can_be_cancelled(
    serving_container: Container, serving_client: httpx.AsyncClient
) -> None:
    engine = FakeEngine(itertools.cycle(["word "]), delay_s=0.02)
    with override(serving_container, engine=engine):
        body = INPUT | {"background": True, "max_output_tokens": 200}
        queued = (await serving_client.post(RESPONSES, json=body)).json()
        assert queued["status"] in {"queued", "in_progress"}
        path = f"{RESPONSES}/{queued['id']}"
        await asked(engine)
        cancelled = await serving_client.post(f"{path}/cancel")
        assert cancelled.json()["status"] == "cancelled"
        assert len(engine.aborted) == 1
        assert (await serving_client.get(path)).json()["status"] == "cancelled"


@pytest.mark.usefixtures("storing")
async def test_the_stream_of_a_cancelled_response_ends(
    serving_container: Container, serving_client: httpx.AsyncClient
) -> None:
    engine = FakeEngine(itertools.cycle(["word "]), delay_s=0.02)
    with override(serving_container, engine=engine):
        body = INPUT | {"background": True, "stream": True, "max_output_tokens": 200}
        stream = asyncio.create_task(serving_client.post(RESPONSES, json=body))
        await asked(engine)
        response_id, _ = engine.requests[0].request_id.rsplit("_", 1)
        path = f"{RESPONSES}/{response_id}"
        await serving_client.post(f"{path}/cancel")
        async with asyncio.timeout(5):
            sent = events_of((await stream).text)
            again = events_of((await serving_client.get(f"{path}?stream=true")).text)
    assert sent[-1][0] != "response.completed"
    assert again == sent


@pytest.fixture
def two(tmp_path: Any, storing: None) -> Iterator[TestClient]:
    from containers.testing import tiny_model

    with Models(str(tiny_model(tmp_path))).client() as client:
        yield client


def test_with_several_models_the_one_that_has_it_is_asked(two: TestClient) -> None:
    for name in ("paris", "rome"):
        made = two.post(RESPONSES, json=INPUT | {"model": name}).json()
        assert two.get(f"{RESPONSES}/{made['id']}").json() == made
        assert made["model"] == name
    error_of(two.get(f"{RESPONSES}/resp_none"), 404)  # type: ignore[arg-type]  # alike
