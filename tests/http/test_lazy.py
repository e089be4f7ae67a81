"""Models that are loaded when they are asked for, and go when nobody uses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from dependency_injector import providers

from app import create_app
from app.flights import Flights
from containers import ApplicationContainer, ModelContainer, Settings
from containers.lifecycle import Resource
from containers.registry import ServedModel
from containers.registry import awaited as awaiting
from containers.testing import FakeEngine, tiny_model
from tests.http.in_process import InProcess, eventually

QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 8}
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model(tmp_path_factory.mktemp("lazy")))


class Serving(InProcess):
    """Models of one folder over doubles; a start waits for ``may_start``."""

    def __init__(self, folder: str, *models: dict[str, Any], **server: Any) -> None:
        self.folder = folder
        self.engines: dict[str, list[FakeEngine]] = {}
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.fails: list[Exception] = []
        self.answer = "Paris."
        self.delay_s = 0.0
        settings = self.settings(*models, **server)
        self.containers = {each.name: self.container(each) for each in settings.models}
        self.application = ApplicationContainer(
            settings=settings, models=providers.Object(self.containers)
        )
        self.app = create_app(self.application)

    def settings(self, *models: dict[str, Any], **server: Any) -> Settings:
        usual = {"source": self.folder, "engine": {"enforce_eager": True}}
        entries = [usual | model for model in models]
        return Settings.model_validate({"server": server, "models": entries})

    def container(self, settings: Any) -> Any:
        container = ModelContainer(settings=settings)
        started = self.engines.setdefault(settings.name, [])

        async def engine() -> AsyncIterator[FakeEngine]:
            await self.may_start.wait()
            if self.fails:
                raise self.fails.pop()
            made = FakeEngine(self.answer, delay_s=self.delay_s)
            started.append(made)
            yield made
            made.shutdown()

        container.engine.override(Resource(engine))
        return container

    def model(self, name: str = "a") -> ServedModel:
        return next(each for each in self.service.models if each.name == name)


async def said(client: httpx.AsyncClient, model: str = "a", **body: Any) -> str:
    response = await client.post(CHAT, json=QUESTION | {"model": model} | body)
    assert response.status_code == 200, response.text
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


LAZY = {"name": "a", "load": "lazy"}
QUICK_COMMENTS = pytest.mark.usefixtures("quick_comments")


@pytest.fixture
def quick_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaiting, "COMMENT_EVERY_S", 0.02)


async def test_a_lazy_model_is_able_and_listed_before_it_is_loaded(folder: str) -> None:
    serving = Serving(folder, LAZY | {"names": ["a", "alias"]})
    async with serving.client() as client:
        assert serving.model().state == "unloaded"
        ready = await client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json()["models"] == {"a": "unloaded"}
        assert (await client.get("/health")).status_code == 200
        cards = (await client.get("/v1/models")).json()["data"]
        assert [card["id"] for card in cards] == ["a", "alias"]
        assert serving.engines["a"] == []


async def test_requests_at_once_load_it_once(folder: str) -> None:
    serving = Serving(folder, LAZY)
    async with serving.client() as client:
        answers = await asyncio.gather(*(said(client) for _ in range(20)))
        assert set(answers) == {"Paris."}
        (engine,) = serving.engines["a"]
        assert len(engine.requests) == 21, "and one more was the canary"
        assert [each.cause for each in serving.model().history] == ["start"]


async def test_a_name_nobody_serves_loads_nothing(folder: str) -> None:
    serving = Serving(folder, LAZY)
    async with serving.client() as client:
        response = await client.post(CHAT, json=QUESTION | {"model": "b"})
        assert response.status_code == 404
        assert serving.engines["a"] == []


async def test_a_request_without_a_model_loads_the_first(folder: str) -> None:
    serving = Serving(folder, LAZY, {"name": "b", "load": "lazy"})
    async with serving.client() as client:
        assert (await client.post(CHAT, json=QUESTION)).json()["model"] == "a"
        assert serving.engines["b"] == []


async def test_a_request_that_waits_too_long_is_503_and_the_load_goes_on(
    folder: str,
) -> None:
    serving = Serving(folder, LAZY, load_wait_s=0.05)
    serving.may_start.clear()
    async with serving.client() as client:
        response = await client.post(CHAT, json=QUESTION)
        assert response.status_code == 503
        assert int(response.headers["retry-after"]) > 0
        assert "being loaded" in response.json()["error"]["message"]
        serving.may_start.set()
        await eventually(lambda: serving.model().is_ready)
        assert await said(client) == "Paris."


@QUICK_COMMENTS
async def test_a_stream_gets_comments_while_its_model_loads(
    folder: str,
) -> None:
    serving = Serving(folder, LAZY)
    serving.may_start.clear()
    async with serving.client() as client:
        asyncio.get_running_loop().call_later(0.2, serving.may_start.set)
        response = await client.post(CHAT, json=QUESTION | {"stream": True})
        events = response.text.split("\n\n")
        assert events.count(": keep-alive") > 3
        assert events[0] == ": keep-alive"
        assert "Paris" in response.text
        assert response.text.endswith("data: [DONE]\n\n")
        assert serving.model().uses.n == 0


@QUICK_COMMENTS
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/responses", {"input": "Where?", "stream": True}),
        ("/v1/messages", QUESTION | {"model": "a", "stream": True}),
    ],
)
async def test_streams_of_other_apis_wait_too(
    folder: str, path: str, body: dict[str, Any]
) -> None:
    serving = Serving(folder, LAZY)
    serving.may_start.clear()
    async with serving.client() as client:
        asyncio.get_running_loop().call_later(0.1, serving.may_start.set)
        response = await client.post(path, json=body)
        assert response.text.startswith(": keep-alive\n\n")
        assert "Paris" in response.text


@QUICK_COMMENTS
async def test_a_stream_whose_model_does_not_come_ends_with_an_error_event(
    folder: str,
) -> None:
    serving = Serving(folder, LAZY, load_wait_s=0.1)
    serving.may_start.clear()
    async with serving.client() as client:
        response = await client.post(CHAT, json=QUESTION | {"stream": True})
        *_, error, done, _ = response.text.split("\n\n")
        assert '"code": 503' in error
        assert done == "data: [DONE]"
        assert serving.model().uses.n == 0
        serving.may_start.set()


@QUICK_COMMENTS
async def test_a_stream_that_has_begun_is_told_what_is_wrong_with_it(
    folder: str,
) -> None:
    serving = Serving(folder, LAZY)
    serving.may_start.clear()
    async with serving.client() as client:
        asyncio.get_running_loop().call_later(0.1, serving.may_start.set)
        body = QUESTION | {"stream": True, "max_tokens": 10**6}
        response = await client.post(CHAT, json=body)
        assert '"code": 400' in response.text


async def test_a_start_that_fails_is_503_and_the_next_request_tries_again(
    folder: str,
) -> None:
    serving = Serving(folder, LAZY)
    serving.fails.append(RuntimeError("no memory"))
    async with serving.client() as client:
        response = await client.post(CHAT, json=QUESTION)
        assert response.status_code == 503
        assert "log" in response.json()["error"]["message"]
        assert serving.model().state == "unloaded"
        assert await said(client) == "Paris."


async def test_an_engine_that_says_nothing_gets_no_requests(folder: str) -> None:
    serving = Serving(folder, LAZY | {"canary": {"timeout_s": 0.05}})
    serving.delay_s = 10
    async with serving.client() as client:
        response = await client.post(CHAT, json=QUESTION)
        assert response.status_code == 503
        (engine,) = serving.engines["a"]
        assert engine.shutdown_count == 1
        serving.delay_s = 0
        assert await said(client) == "Paris."


async def test_an_idle_model_is_unloaded_and_comes_back(folder: str) -> None:
    serving = Serving(folder, {"name": "a", "idle_timeout_s": 0.2})
    async with serving.client() as client:
        tokenizer = serving.model().loaded.tokenizer
        assert await said(client) == "Paris."
        await eventually(lambda: serving.model().state == "unloaded")
        assert serving.engines["a"][0].shutdown_count == 1
        assert (await client.get("/readyz")).status_code == 200
        (card,) = (await client.get("/v1/models")).json()["data"]
        assert card["max_model_len"] is not None, "as it was when it was loaded"
        assert await said(client) == "Paris."
        assert serving.model().loaded.tokenizer is tokenizer
        assert [each.cause for each in serving.model().history] == ["start", "load"]


async def test_a_model_with_a_request_in_flight_does_not_go(folder: str) -> None:
    serving = Serving(folder, {"name": "a", "idle_timeout_s": 0.05})
    serving.delay_s = 0.1
    serving.answer = "a b c d e f g"
    async with serving.client() as client:
        response = await client.post(CHAT, json=QUESTION | {"stream": True})
        assert response.text.endswith("data: [DONE]\n\n")
        assert len(serving.engines["a"]) == 1
        await eventually(lambda: serving.model().state == "unloaded")


async def test_a_stream_dropped_before_it_began_is_no_use(folder: str) -> None:
    serving = Serving(folder, {"name": "a", "idle_timeout_s": 60.0})
    async with serving.client():
        from containers.vllm_api import ChatCompletionRequest

        chat = serving.service.registry.serving("serving_chat", "a")
        request = ChatCompletionRequest(**QUESTION, stream=True)
        events = await chat.create_chat_completion(request)
        assert serving.model().uses.n == 1
        del events
        assert serving.model().uses.n == 0


async def test_a_model_may_sleep_instead(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = Serving(folder, {"name": "a", "idle_timeout_s": 0.1})
    # vLLM refuses sleep mode on the CPU, where these tests run.
    settings = serving.model().settings.model_copy(update={"idle_action": "sleep"})
    serving.containers["a"].settings.override(providers.Object(settings))
    async with serving.client() as client:
        (engine,) = serving.engines["a"]
        await eventually(lambda: serving.model().state == "asleep")
        assert await engine.is_sleeping()
        assert await said(client) == "Paris."
        assert not await engine.is_sleeping()
        assert len(serving.engines["a"]) == 1
        assert engine.requests[0].request_id.startswith("canary"), "it proves itself"
        await eventually(lambda: serving.model().state == "asleep")
        engine.die()
        assert await said(client) == "Paris."
        assert len(serving.engines["a"]) == 2


def of_a_gib(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "load": "lazy", "memory_gib": 1.0, **more}


async def test_the_model_used_least_recently_makes_room(folder: str) -> None:
    names = ["a", "b", "c"]
    serving = Serving(folder, *map(of_a_gib, names), memory_budget_gib=2.0)
    async with serving.client() as client:
        for name in ["a", "b", "a", "c"]:
            await said(client, name)
        states = {name: serving.model(name).state for name in names}
        assert states == {"a": "ready", "b": "unloaded", "c": "ready"}


async def test_a_pinned_model_never_goes(folder: str) -> None:
    models = [of_a_gib("a", pinned=True), of_a_gib("b"), of_a_gib("c")]
    serving = Serving(folder, *models, memory_budget_gib=2.0)
    async with serving.client() as client:
        for name in ["a", "b", "c", "b"]:
            await said(client, name)
        assert len(serving.engines["a"]) == 1
        assert serving.model("a").is_ready


async def test_a_model_in_use_is_waited_for_not_taken(folder: str) -> None:
    serving = Serving(folder, of_a_gib("a"), of_a_gib("b"), memory_budget_gib=1.0)
    serving.delay_s, serving.answer = 0.05, "a b c d e f"
    async with serving.client() as client:
        first = asyncio.create_task(said(client, "a"))
        await eventually(lambda: serving.model("a").is_ready)
        assert await said(client, "b") == "a b c d e f"
        assert first.done()
        assert await first == "a b c d e f"


async def test_where_there_is_no_room_in_time_a_request_is_503(folder: str) -> None:
    models = [of_a_gib("a"), of_a_gib("b")]
    serving = Serving(folder, *models, memory_budget_gib=1.0, load_wait_s=0.3)
    serving.answer = "a b c d e f g h"
    async with serving.client() as client:
        await client.post(CHAT, json=QUESTION | {"model": "a"})
        await eventually(lambda: serving.model("a").is_ready)
        with serving.model("a").uses.one():
            body = QUESTION | {"model": "b"}
            assert (await client.post(CHAT, json=body)).status_code == 503
        assert serving.model("a").is_ready


async def test_many_clients_of_many_models_are_all_answered(folder: str) -> None:
    names = ["a", "b", "c", "d"]
    serving = Serving(folder, *map(of_a_gib, names), memory_budget_gib=2.0)
    async with serving.client() as client:

        async def ask(name: str) -> None:
            for _ in range(4):
                assert await said(client, name) == "Paris."

        await asyncio.gather(*(ask(name) for name in names * 3))
        loaded = [each for each in serving.service.models if each.is_ready]
        assert len(loaded) <= 2
        for engines in serving.engines.values():
            for engine in engines:
                assert engine.shutdown_count <= 1
                assert all(each.state == "finished" for each in engine.requests)


async def test_a_reload_changes_a_model_that_is_not_loaded(folder: str) -> None:
    serving = Serving(folder, LAZY)
    async with serving.client() as client:
        template = "{% for m in messages %}new{{ m.content }}{% endfor %}"
        new = serving.settings(LAZY | {"chat": {"template": template}})
        await serving.service.reload(new)
        assert serving.engines["a"] == []
        assert await said(client) == "Paris."
        assert serving.model().loaded.chat_template.text == template


async def test_a_model_that_may_go_from_now_on_keeps_its_requests(folder: str) -> None:
    serving = Serving(folder, {"name": "a"})
    serving.delay_s, serving.answer = 0.1, "a b c d e f g"
    async with serving.client() as client:
        asking = asyncio.create_task(said(client))
        await eventually(lambda: serving.engines["a"][0].requests)
        new = serving.settings({"name": "a", "idle_timeout_s": 0.05})
        await serving.service.reload(new)
        assert await asking == "a b c d e f g"
        await eventually(lambda: serving.model().state == "unloaded")


async def test_a_host_gets_loaded_objects_of_a_model_it_waits_for(folder: str) -> None:
    serving = Serving(folder, {"name": "a", "load": "lazy", "idle_timeout_s": 0.1})
    async with serving.client():
        async with serving.service.registry.use() as loaded:
            await asyncio.sleep(0.3)
            assert not loaded.engine.errored, "it stays while it is used"
        await eventually(lambda: serving.model().state == "unloaded")


async def test_metrics_tell_of_loads_and_unloads(folder: str) -> None:
    serving = Serving(folder, of_a_gib("a"), of_a_gib("b"), memory_budget_gib=1.0)
    async with serving.client() as client:
        for name in "aba":
            await said(client, name)
        text = (await client.get("/metrics")).text
        assert 'vllm_di_loads_total{cause="request",model_name="a"} 2.0' in text
        assert 'vllm_di_unloads_total{cause="memory",model_name="b"} 1.0' in text
        assert 'vllm_di_model_ready{model_name="b"} 0.0' in text


async def test_a_reload_does_not_wait_for_one_who_waits_for_a_model(
    folder: str,
) -> None:
    serving = Serving(folder, {"name": "a"}, {"name": "b", "load": "lazy"})
    async with serving.client() as client:
        serving.may_start.clear()
        engine = {"enforce_eager": True, "max_model_len": 128}
        new = serving.settings(
            {"name": "a", "engine": engine}, {"name": "b", "load": "lazy"}
        )
        turn = serving.service.registry.turn
        await turn.acquire()
        reloading = asyncio.create_task(serving.service.reload(new))
        await asyncio.sleep(0.05)
        asking = asyncio.create_task(said(client, "b"))
        await eventually(lambda: serving.model("b").uses.n == 1)
        await asyncio.sleep(0.05)
        serving.may_start.set()
        turn.release()
        async with asyncio.timeout(10):
            await reloading
            assert await asking == "Paris."


def test_flights_that_step_aside_are_counted_but_not_waited_for() -> None:
    async def check() -> None:
        flights = Flights()
        with flights.one():
            with flights.aside():
                assert flights.n == 1
                assert await flights.land_those_of_now(0.01)
                assert not await flights.land(timeout_s=0.01)
            assert not await flights.land_those_of_now(0.01)
        assert await flights.land(timeout_s=0.01)

    asyncio.run(check())
