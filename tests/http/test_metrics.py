"""Metrics of ours: there, right, cheap to understand, and gone with their model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dependency_injector import providers
from dependency_injector.containers import Container
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app import create_app, include_serving
from app.metrics import FAMILIES
from containers import ApplicationContainer, ModelContainer, Settings
from containers.errors import StartError
from containers.testing import FakeEngine
from tests.conftest import tiny_settings
from tests.http.conftest import app_of
from tests.http.in_process import InProcess, eventually

PAGE = Path(__file__).parents[2] / "docs" / "observability.md"
CHAT = "/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 3}
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples_of(text: str) -> Samples:
    """Samples of our own families, by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("vllm_di_")
    }


def value(samples: Samples, name: str, **labels: object) -> float | None:
    """The one sample with these labels; ``None`` if there is none."""
    wanted = {(key, str(each)) for key, each in labels.items()}
    found = [v for (n, has), v in samples.items() if n == name and wanted <= set(has)]
    assert len(found) <= 1, found
    return found[0] if found else None


def say(mark: str) -> str:
    """A chat template that can be told from others."""
    return f"{{% for m in messages %}}{mark}{{{{ m.content }}}}{{% endfor %}}"


class Serving(InProcess):
    """Models over doubles of their engines."""

    def __init__(self, folder: Path, *names: str, **server: Any) -> None:
        self.folder, self.server = folder, server
        settings = self.settings(*names)
        containers = {}
        for model in settings.models:
            containers[model.name] = ModelContainer(settings=model)
            engine = providers.Callable(lambda: FakeEngine("a b c"))
            containers[model.name].engine.override(engine)
        self.app = create_app(
            ApplicationContainer(settings=settings, models=providers.Object(containers))
        )

    def settings(self, *names: str, template: str | None = None) -> Settings:
        model = tiny_settings(self.folder).model_dump()
        chat = model["chat"] | {"template": template}
        models = [
            model | {"name": name, "names": (name,), "chat": chat} for name in names
        ]
        return Settings.model_validate({"server": self.server, "models": models})


async def scrape(client: httpx.AsyncClient) -> Samples:
    return samples_of((await client.get("/metrics")).text)


async def test_resources_tell_their_state_and_seconds(tiny_folder: Path) -> None:
    async with Serving(tiny_folder, "a", "b").client() as client:
        samples = await scrape(client)
    for model in ("a", "b"):
        of = {"model_name": model, "provider": "tokenizer"}
        assert value(samples, "vllm_di_resource_state", **of, state="ready") == 1
        assert value(samples, "vllm_di_resource_state", **of, state="failed") == 0
        seconds = value(samples, "vllm_di_resource_seconds", **of)
        assert seconds is not None
        assert 0 < seconds < 60
        started = {"model_name": model, "cause": "start"}
        assert value(samples, "vllm_di_starts_total", **started) == 1
    assert value(samples, "vllm_di_server_state", state="ready") == 1
    assert value(samples, "vllm_di_server_state", state="draining") == 0


async def test_requests_are_counted_by_route_status_and_model(
    tiny_folder: Path,
) -> None:
    async with Serving(tiny_folder, "a", "b").client() as client:
        for model in ("a", "b", "b", "nobody's"):
            await client.post(CHAT, json=QUESTION | {"model": model})
        await client.post(CHAT, json=QUESTION | {"model": "b", "stream": True})
        await client.get("/nowhere")
        await client.get("/livez")
        samples = await scrape(client)
    of = {"route": CHAT, "method": "POST"}
    counted = "vllm_di_requests_total"
    assert value(samples, counted, **of, status=200, model_name="a") == 1
    assert value(samples, counted, **of, status=200, model_name="b") == 3
    assert value(samples, counted, **of, status=404, model_name="") == 1
    assert value(samples, counted, route="", status=404) == 1
    assert value(samples, counted, route="/livez") is None
    where = {"route": CHAT, "model_name": "b"}
    assert value(samples, "vllm_di_request_seconds_count", **where) == 3
    assert value(samples, "vllm_di_request_first_token_seconds_count", **where) == 1
    first = value(samples, "vllm_di_request_first_token_seconds_sum", **where)
    whole = value(samples, "vllm_di_request_seconds_sum", **where)
    assert first is not None
    assert whole is not None
    assert 0 < first < whole


async def test_what_is_in_flight_is_seen_and_gone_in_the_end(
    tiny_folder: Path,
) -> None:
    serving = Serving(tiny_folder, "a")
    async with serving.client() as client:
        (model,) = serving.service.models
        await model.loaded.engine.pause_generation(mode="keep")
        asking = asyncio.create_task(client.post(CHAT, json=QUESTION))
        await eventually(lambda: model.loaded.engine.requests)
        flying = value(await scrape(client), "vllm_di_requests_in_flight")
        await model.loaded.engine.resume_generation()
        assert (await asking).status_code == 200
        landed = value(await scrape(client), "vllm_di_requests_in_flight")
    assert (flying, landed) == (1, 0)


async def test_a_model_that_is_removed_leaves_no_series(tiny_folder: Path) -> None:
    serving = Serving(tiny_folder, "a", "b")
    async with serving.client() as client:
        await client.post(CHAT, json=QUESTION | {"model": "b"})
        assert 'model_name="b"' in (await client.get("/metrics")).text
        await serving.service.reload(serving.settings("a"))
        assert 'model_name="b"' not in (await client.get("/metrics")).text


async def test_a_generation_that_was_replaced_leaves_no_series(
    tiny_folder: Path,
) -> None:
    serving = Serving(tiny_folder, "a")
    async with serving.client() as client:
        await serving.service.reload(serving.settings("a", template=say("0")))
        before = await scrape(client)
        for mark in "123":
            await serving.service.reload(serving.settings("a", template=say(mark)))
        (model,) = serving.service.models
        await eventually(lambda: not model.is_retiring)
        after = await scrape(client)
    assert before.keys() == after.keys()
    assert value(after, "vllm_di_generation", model_name="a") == 5
    assert value(after, "vllm_di_starts_total", cause="reload") == 4
    assert value(after, "vllm_di_stop_seconds_count", model_name="a") == 4
    assert value(after, "vllm_di_drain_seconds_count", model_name="a") == 4


async def test_a_start_that_fails_is_counted_by_the_provider_that_failed(
    tiny_folder: Path,
) -> None:
    serving = Serving(tiny_folder, "a")
    async with serving.client() as client:
        with pytest.raises(StartError):
            await serving.service.reload(serving.settings("a", template="{{"))
        samples = await scrape(client)
    failed = {"cause": "reload", "provider": "chat_template"}
    assert value(samples, "vllm_di_start_failures_total", **failed) == 1


async def test_they_are_shown_while_the_model_loads(
    serving_container: Container,
) -> None:
    client = TestClient(create_app(serving_container))
    samples = samples_of(client.get("/metrics").text)
    assert value(samples, "vllm_di_server_state", state="not started") == 1
    assert value(samples, "vllm_di_model_ready") == 0


def test_a_drain_is_timed(serving_container: Container) -> None:
    app = create_app(serving_container)
    with TestClient(app) as client:
        service = app.state.vllm_di
        assert client.portal is not None
        client.portal.call(lambda: service.drain(timeout_s=1))
        samples = samples_of(client.get("/metrics").text)
    assert value(samples, "vllm_di_server_state", state="draining") == 1
    seconds = value(samples, "vllm_di_server_drain_seconds")
    assert seconds is not None
    assert 0 < seconds < 60


def test_in_a_hosts_app_only_our_routes_are_counted(
    serving_container: Container,
) -> None:
    app = FastAPI()

    @app.get("/own")
    async def own() -> str:
        return "own"

    include_serving(app, serving_container, prefix="/llm")
    with TestClient(app) as client:
        client.get("/own")
        client.post(f"/llm{CHAT}", json=QUESTION)
        client.get("/llm/livez")
        samples = samples_of(client.get("/llm/metrics").text)
    counted = [dict(has) for n, has in samples if n == "vllm_di_requests_total"]
    assert [each["route"] for each in counted] == [f"/llm{CHAT}"]


def test_a_request_without_a_key_is_counted_too(serving_container: Container) -> None:
    with TestClient(app_of(serving_container, api_keys=["right"])) as client:
        client.post(CHAT, json=QUESTION)
        found = client.get("/metrics", headers={"X-Api-Key": "right"})
    samples = samples_of(found.text)
    assert value(samples, "vllm_di_requests_total", status=401, route="") == 1


def test_off_nothing_is_counted(serving_container: Container) -> None:
    with TestClient(app_of(serving_container, request_metrics=False)) as client:
        client.post(CHAT, json=QUESTION)
        samples = samples_of(client.get("/metrics").text)
    assert value(samples, "vllm_di_requests_total") is None
    assert value(samples, "vllm_di_model_ready") == 1


def documented() -> Iterator[tuple[str, ...]]:
    """Rows of the page's table: name, type, labels."""
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `vllm_di_"):
            name, kind, labels, _ = (each.strip() for each in line.split("|")[1:-1])
            yield name.strip("`"), kind, *re.findall("`(.+?)`", labels)


def test_the_page_tells_every_metric_its_type_and_its_labels() -> None:
    declared = [(f.name, f.kind, *f.labels) for f in FAMILIES.values()]
    assert list(documented()) == declared


async def test_the_types_and_labels_shown_are_those_declared(
    tiny_folder: Path,
) -> None:
    async with Serving(tiny_folder, "a").client() as client:
        await client.post(CHAT, json=QUESTION | {"stream": True})
        text = (await client.get("/metrics")).text
    types = dict(re.findall(r"^# TYPE (vllm_di_\w+) (\w+)$", text, re.MULTILINE))
    assert types == {family.name: family.kind for family in FAMILIES.values()}
    for name, has in samples_of(text):
        family = FAMILIES.get(name) or FAMILIES[re.sub("_[a-z]+$", "", name)]
        assert {key for key, _ in has} - {"le"} == set(family.labels)
