"""How a server stands, as JSON and as a feed of events."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import httpx
import pytest
from prometheus_client import Counter, Gauge
from prometheus_client.parser import text_string_to_metric_families

import app
from app import create_app
from app.status import feed
from containers.lifecycle import lifecycle_of
from containers.vllm_api.metrics import take_metrics
from tests.http.conftest import served
from tests.http.in_process import eventually
from tests.http.test_lazy import Serving, folder, said

__all__ = ["folder"]

ADMIN = {"Authorization": "Bearer mighty"}
KEYS = {"admin_keys": ["mighty"]}
MODEL = {"name": "a"}


@pytest.fixture
def measured() -> Iterator[dict[str, int | float]]:
    """Figures of an engine of the model ``a``, as vLLM registers them."""
    values: dict[str, int | float] = {
        "num_requests_running": 3,
        "num_requests_waiting": 2,
        "kv_cache_usage_perc": 0.25,
        "prompt_tokens": 40,
        "generation_tokens": 70,
    }
    for name, value in values.items():
        kind: Any = Counter if name.endswith("_tokens") else Gauge
        kind(f"vllm:{name}", name, ["model_name"]).labels("a").inc(value)
    metrics = take_metrics("a")
    yield values
    metrics.discard()


async def picture(client: httpx.AsyncClient) -> dict[str, Any]:
    response = await client.get("/admin/status", headers=ADMIN)
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    content: dict[str, Any] = response.json()
    return content


async def told(events: AsyncGenerator[str, None], name: str) -> dict[str, Any]:
    async for event in events:
        head, data, *_ = event.split("\n")
        if head == f"event: {name}":
            content: dict[str, Any] = json.loads(data.removeprefix("data: "))
            return content
    raise AssertionError(f"no {name} came")


async def test_states_and_seconds_are_those_of_the_probe(folder: str) -> None:
    serving = Serving(folder, MODEL, {"name": "b", "load": "lazy"}, **KEYS)
    async with serving.client() as client:
        seen, probe = await picture(client), (await client.get("/startupz")).json()
        assert seen["phase"] == probe["phase"] == "ready"
        assert {m["name"]: m["state"] for m in seen["models"]} == probe["models"]
        records = {
            (r["model"], r["name"]): (r["state"], r["seconds"])
            for r in probe["resources"]
        }
        for model in seen["models"]:
            for each in model["resources"]:
                state, seconds = records.get(
                    (model["name"], each["name"]), ("not started", None)
                )
                assert each["state"] == state
                assert each["seconds"] == pytest.approx(seconds, abs=1e-3)


async def test_each_resource_comes_after_what_it_needs(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        (model,) = (await picture(client))["models"]
        levels = {each["name"]: each["level"] for each in model["resources"]}
        assert {*levels} == {*lifecycle_of(serving.model().container).records}
        needs = {each["name"]: each["needs"] for each in model["resources"]}
        assert "vllm_config" in needs["tokenizer"]
        for name, needed in needs.items():
            assert all(levels[each] < levels[name] for each in needed)


async def test_what_a_model_cannot_do_is_left_out_of_its_graph(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        (model,) = (await picture(client))["models"]
        left_out = {r["name"] for r in model["resources"] if r["is_left_out"]}
        assert "serving_embedding" in left_out
        assert "serving_chat" not in left_out
        assert model["offers"]["chat"]


async def test_figures_are_those_of_the_metrics(
    folder: str, measured: dict[str, int | float]
) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        figures = (await picture(client))["figures"]
        text = (await client.get("/metrics")).text
        shown = {
            sample.name: sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.labels.get("model_name") == "a"
        }
        seen = figures["models"]["a"]
        assert seen["n_running"] == shown["vllm:num_requests_running"] == 3
        assert seen["n_waiting"] == shown["vllm:num_requests_waiting"] == 2
        assert seen["kv_cache_usage"] == shown["vllm:kv_cache_usage_perc"] == 0.25
        assert seen["n_prompt_tokens"] == shown["vllm:prompt_tokens_total"] == 40
        assert seen["n_generation_tokens"] == 70
        assert shown["vllm:generation_tokens_total"] == 70
        assert figures["in_flight"] == 0


async def test_a_model_whose_engine_measures_nothing_has_no_figures(
    folder: str,
) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        assert (await picture(client))["figures"]["models"] == {}


async def test_the_feed_tells_a_change_at_once(folder: str) -> None:
    serving = Serving(folder, MODEL | {"load": "lazy"}, **KEYS)
    async with serving.client() as client:
        events = feed.events(serving.service)
        before = await told(events, "status")
        assert before["models"][0]["state"] == "unloaded"
        assert "at" in await told(events, "figures")
        await said(client)
        after = await told(events, "status")
        assert after["models"][0]["state"] == "ready"
        assert after["models"][0]["history"][0]["cause"] == "start"
        await events.aclose()


async def test_the_feed_is_silent_of_what_has_not_changed(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "LOOK_EVERY_S", 0.01)
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client():
        seen = [event async for event in feed.events(serving.service, lifetime_s=0.2)]
        assert [event.split("\n")[0] for event in seen] == [
            "event: status",
            "event: figures",
        ]


async def test_many_feeds_look_together(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Any] = []
    look = feed.stamp

    def counted(service: Any) -> Any:
        looks.append(service)
        return look(service)

    monkeypatch.setattr(feed, "stamp", counted)
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client():

        async def read() -> list[str]:
            return [each async for each in feed.events(serving.service, lifetime_s=0.5)]

        told = await asyncio.gather(*(read() for _ in range(100)))
    assert all(each[0].startswith("event: status") for each in told)
    assert 0 < len(looks) < 10


async def test_the_feed_ends_with_the_server(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client():
        events = feed.events(serving.service)
        await told(events, "figures")
        serving.service.is_leaving = True
        assert [event async for event in events] == []


async def test_a_server_with_an_open_feed_stops_at_once(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)

    def first_line() -> None:
        with served(serving.app) as url:
            address = f"{url}/admin/status/events"
            with httpx.stream("GET", address, headers=ADMIN) as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                assert next(response.iter_lines()) == "event: status"
                serving.service.is_leaving = True

    async with asyncio.timeout(10):
        await asyncio.to_thread(first_line)


async def test_a_feed_that_nobody_reads_on_ends(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "LIFETIME_S", 0.5)
    monkeypatch.setattr(feed, "PATIENCE_S", 0.5)
    monkeypatch.setattr(feed, "figures", lambda _: {"much": "x" * 20_000_000})
    ended = threading.Event()
    close = feed.Feed.stream_response

    async def stream_response(response: Any, send: Any) -> None:
        try:
            await close(response, send)
        finally:
            ended.set()

    monkeypatch.setattr(feed.Feed, "stream_response", stream_response)
    serving = Serving(folder, MODEL, **KEYS)

    def read_a_little() -> bytes:
        with (
            served(serving.app) as url,
            socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as reader,
        ):
            request = "GET /admin/status/events HTTP/1.1\r\nHost: h\r\n"
            reader.sendall(f"{request}Authorization: Bearer mighty\r\n\r\n".encode())
            parts = [reader.recv(1000)]
            assert ended.wait(10), "it waits for its reader for ever"
            while part := reader.recv(1_000_000):
                parts.append(part)
            return b"".join(parts)

    told = await asyncio.to_thread(read_a_little)
    assert told.startswith(b"HTTP/1.1 200 OK")
    assert not told.endswith(b"0\r\n\r\n"), "the answer was broken off, and looks it"


async def test_nobody_but_an_administrator_sees_it(folder: str) -> None:
    serving = Serving(folder, MODEL, api_keys=["small"], **KEYS)
    async with serving.client() as client:
        small = {"Authorization": "Bearer small"}
        for path in ("/admin/status", "/admin/status/events", "/admin/settings"):
            assert (await client.get(path)).status_code == 401
            assert (await client.get(path, headers=small)).status_code == 403
        for path in ("/admin/unload", "/admin/drain"):
            assert (await client.post(path)).status_code == 401
            assert (await client.post(path, headers=small)).status_code == 403


async def test_who_watches_is_no_request_to_be_counted(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        await picture(client)
        await client.get("/admin/settings", headers=ADMIN)
        assert "/admin/" not in (await client.get("/metrics")).text


async def test_without_admin_keys_there_is_nothing_to_see(folder: str) -> None:
    async with Serving(folder, MODEL).client() as client:
        assert (await client.get("/admin/status")).status_code == 404


async def test_an_error_is_remembered_with_its_provider(folder: str) -> None:
    serving = Serving(folder, MODEL | {"load": "lazy"}, **KEYS)
    serving.fails = [RuntimeError("no memory is left")]
    async with serving.client() as client:
        question = {"messages": [{"role": "user", "content": "Where?"}]}
        answer = await client.post("/v1/chat/completions", json=question)
        assert answer.status_code == 503
        (trouble, *_) = (await picture(client))["troubles"]
        assert trouble["level"] == "error"
        assert trouble["model"] == "a"
        assert trouble["provider"] == "engine"
        assert "no memory is left" in trouble["text"]


async def test_the_death_of_an_engine_is_the_engines(folder: str) -> None:
    serving = Serving(folder, MODEL, heal_attempts=1, **KEYS)
    async with serving.client() as client:
        serving.engines["a"][0].die()
        await eventually(lambda: serving.model().generation.number == 2)
        seen = await picture(client)
        assert [each["provider"] for each in seen["troubles"]] == ["engine"]
        assert [each["cause"] for each in seen["models"][0]["history"]] == [
            "start",
            "heal",
        ]


async def test_a_failure_in_a_serving_object_is_told_by_its_name(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        chat = serving.model().loaded.serving_chat
        chat.engine_client = None
        question = {"messages": [{"role": "user", "content": "Where?"}]}
        answer = await client.post("/v1/chat/completions", json=question)
        assert answer.status_code == 500
        (trouble,) = (await picture(client))["troubles"]
        assert trouble["provider"] == "serving_chat"


def log(text: str, *words: object, place: str) -> None:
    """Log an error as code in a file would."""
    logger = logging.getLogger("app.any")
    record = logger.makeRecord(
        logger.name, logging.ERROR, place, 1, text, words, exc_info=None
    )
    logger.handle(record)


async def test_a_host_that_calls_its_own_code_app_is_not_listened_to(
    folder: str,
) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        log("customer %s", 42, place="/srv/app/billing.py")
        log("%s", "ours", place=app.__file__)
        (seen,) = (await picture(client))["troubles"]
        assert seen["text"] == "ours"


async def test_no_secret_of_the_settings_is_told_with_an_error(folder: str) -> None:
    model = {"name": "a", "engine": {"enforce_eager": True, "hf_token": "hunter2"}}
    serving = Serving(folder, model, api_keys=["small"], **KEYS)
    serving.app = create_app(serving.application, wait_until_ready=False)
    serving.fails = [RuntimeError("https://u:pw9@hub/x?token=hunter2 gave 401")]
    async with serving.client() as client:
        await eventually(lambda: serving.service.state == "failed")
        anyone = await client.get("/startupz")
        admin = await client.get("/admin/status", headers=ADMIN)
    for answer in (anyone, admin):
        assert "gave 401" in answer.text
        assert "hunter2" not in answer.text
        assert "pw9" not in answer.text


async def test_a_server_that_starts_cannot_be_drained(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        serving.service.state = "starting"
        refused = await client.post("/admin/drain", headers=ADMIN)
        assert refused.status_code == 503
        serving.service.state = "ready"
        assert await said(client)


async def test_a_change_of_the_server_s_own_settings_shows(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        before = (await picture(client))["n_changes"]
        changed = serving.settings(MODEL, drain_timeout_s=7, **KEYS)
        await serving.service.reload(changed)
        assert (await picture(client))["n_changes"] != before


async def test_listening_takes_no_line_of_the_log_away(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        capsys.readouterr()  # what is imported may say something
        log("it is %s", "late", place=app.__file__)
        assert capsys.readouterr().err == "it is late\n"
        seen = (await picture(client))["troubles"]
        assert [each["text"] for each in seen] == ["it is late"]
    assert not logging.getLogger("app").handlers


async def test_what_a_generation_has_from_the_one_before_is_kept(folder: str) -> None:
    serving = Serving(folder, MODEL, **KEYS)
    async with serving.client() as client:
        first = (await picture(client))["models"][0]["resources"]
        assert not any(each["is_kept"] for each in first)
        await client.post("/admin/unload", headers=ADMIN)
        await said(client)
        (model,) = (await picture(client))["models"]
        kept = {each["name"] for each in model["resources"] if each["is_kept"]}
        assert kept >= {"tokenizer", "chat_template"}
        assert "engine" not in kept
        (_, last) = model["history"]
        own = [r for r in model["resources"] if r["name"] not in kept]
        assert min(each["started_at"] for each in own) >= last["began_at"]


async def test_the_settings_are_those_of_config_show(folder: str) -> None:
    serving = Serving(
        folder, MODEL | {"engine": {"hf_token": "hunter2"}}, api_keys=["small"], **KEYS
    )
    async with serving.client() as client:
        response = await client.get("/admin/settings", headers=ADMIN)
        assert "hunter2" not in response.text
        assert "mighty" not in response.text
        assert "small" not in response.text
        lines = {each["text"]: each["origin"] for each in response.json()["lines"]}
        assert lines["  port: 8000"] == "Python"
        assert lines["server:"] == ""
