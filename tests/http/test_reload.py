"""Changing settings, and replacing dead engines, while requests go on."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from dependency_injector import providers

from app import create_app
from containers import ApplicationContainer, ModelContainer, ModelSettings, Settings
from containers.errors import SettingsError, StartError
from containers.lifecycle import lifecycle_of
from containers.testing import FakeEngine, tiny_model
from tests.http.in_process import InProcess, eventually

TEMPLATE = "{{% for m in messages %}}{mark}{{{{ m.content }}}}{{% endfor %}}"
QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 64}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model(tmp_path_factory.mktemp("reload")))


class Serving(InProcess):
    """One model served over doubles that answer with the prompt they got."""

    def __init__(self, folder: str, **server: Any) -> None:
        self.folder = folder
        self.server = server
        self.engines: list[FakeEngine] = []
        first = self.settings(mark="0")
        container = ModelContainer(settings=first.models[0])
        container.engine.override(providers.Callable(self.new_engine))
        self.application = ApplicationContainer(
            settings=first, models=providers.Object({"tiny": container})
        )
        self.app = create_app(self.application)

    def new_engine(self) -> FakeEngine:
        engine = FakeEngine(
            lambda request: " ".join(map(str, request.prompt_token_ids))
        )
        self.engines.append(engine)
        return engine

    def settings(self, *, mark: str = "0", **model: Any) -> Settings:
        chat = {"template": TEMPLATE.format(mark=mark)}
        entry = {
            "name": "tiny",
            "source": self.folder,
            "engine": {"enforce_eager": True},
            "chat": chat,
        }
        return Settings.model_validate(
            {"server": self.server, "models": [entry | model]}
        )


async def said(client: httpx.AsyncClient, **body: Any) -> str:
    response = await client.post("/v1/chat/completions", json=QUESTION | body)
    assert response.status_code == 200, response.text
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


@pytest.fixture
def serving(folder: str) -> Serving:
    return Serving(folder, heal_attempts=2, heal_backoff_s=0.01)


async def test_a_template_is_changed_without_a_new_engine(serving: Serving) -> None:
    async with serving.client() as client:
        before = await said(client)
        (plan,) = (await serving.service.reload(serving.settings(mark="1"))).plans
        assert before != await said(client)
        assert not plan.restarts_engine
        assert set(plan.borrowed) >= {"model", "vllm_config", "tokenizer", "renderer"}
        assert "chat_template" in plan.rebuilt
        assert len(serving.engines) == 1


async def test_a_dry_run_changes_nothing(serving: Serving) -> None:
    async with serving.client() as client:
        before = await said(client)
        new = serving.settings(mark="1", engine={"max_model_len": 128})
        (plan,) = (await serving.service.reload(new, dry_run=True)).plans
        assert plan.restarts_engine
        assert before == await said(client)
        (model,) = serving.service.models
        assert model.generation.number == 1


async def test_equal_settings_build_nothing(serving: Serving) -> None:
    async with serving.client():
        (plan,) = (await serving.service.reload(serving.settings())).plans
        assert plan.rebuilt == ()
        assert serving.service.models[0].generation.number == 1


async def test_a_bad_template_leaves_everything_as_it_was(serving: Serving) -> None:
    async with serving.client() as client:
        before = await said(client)
        bad = serving.settings(mark="{{")
        with pytest.raises(StartError, match="chat_template"):
            await serving.service.reload(bad)
        assert before == await said(client)
        await serving.service.reload(serving.settings(mark="1"))
        assert before != await said(client)


@pytest.mark.parametrize(
    ("section", "key"), [("server", "port"), ("performance", "fast_streams")]
)
async def test_what_needs_a_restart_is_refused(
    serving: Serving, section: str, key: str
) -> None:
    async with serving.client() as client:
        old = serving.settings()
        value = not getattr(getattr(old, section), key)
        changed = getattr(old, section).model_copy(update={key: value})
        new = old.model_copy(update={section: changed})
        with pytest.raises(SettingsError, match=rf"{section}\.{key}"):
            await serving.service.reload(new)
        await said(client)


@pytest.mark.soak
async def test_no_request_is_lost_or_mixed_over_a_hundred_reloads(
    serving: Serving,
) -> None:
    async with serving.client() as client:
        answers: list[str] = []
        is_over = asyncio.Event()

        async def ask() -> None:
            while not is_over.is_set():
                answers.append(await said(client))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(ask())
            for number in range(100):
                await serving.service.reload(serving.settings(mark=str(number % 10)))
            is_over.set()
        assert len(set(answers)) > 3
        assert len(serving.engines) == 1
        (model,) = serving.service.models
        assert model.generation.number >= 100
        assert len(model.history) == 50


@pytest.mark.parametrize("how", ["stop_first", "start_first"])
async def test_an_engine_argument_starts_a_new_engine(folder: str, how: str) -> None:
    serving = Serving(folder, engine_reload=how)
    async with serving.client() as client:
        before = await said(client)
        new = serving.settings(engine={"enforce_eager": True, "max_model_len": 128})
        (plan,) = (await serving.service.reload(new)).plans
        assert plan.restarts_engine
        assert before == await said(client)
        assert len(serving.engines) == 2
        assert serving.service.models[0].loaded.engine is serving.engines[1]


async def test_a_dead_engine_is_replaced_and_its_tokenizer_kept(
    serving: Serving,
) -> None:
    async with serving.client() as client:
        (model,) = serving.service.models
        tokenizer = model.loaded.tokenizer
        serving.engines[0].die()
        await eventually(lambda: len(serving.engines) == 2 and model.is_ready)
        assert await said(client)
        assert model.loaded.tokenizer is tokenizer
        assert [each.cause for each in model.history] == ["start", "heal"]
        assert serving.service.state == "ready"


async def test_an_engine_that_does_not_come_back_is_given_up(
    serving: Serving,
) -> None:
    async with serving.client() as client:
        (model,) = serving.service.models
        attempts: Counter[str] = Counter()

        def fail() -> None:
            attempts["engine"] += 1
            raise RuntimeError("no memory")

        model.container.engine.override(providers.Callable(fail))
        serving.engines[0].die()
        await eventually(lambda: serving.service.state == "engine dead")
        assert attempts["engine"] == 2
        response = await client.post("/v1/chat/completions", json=QUESTION)
        assert response.status_code == 503


async def test_models_are_added_and_removed(serving: Serving) -> None:
    async with serving.client() as client:
        entry = serving.settings().models[0].model_dump(exclude={"name", "names"})
        both = Settings(
            server=serving.settings().server,
            models=[
                *serving.settings().models,
                ModelSettings.model_validate(entry | {"name": "second"}),
            ],
        )
        (model,) = serving.service.models
        old = model.container
        # Doubles stand in for the engine of every model of this class of container.
        with ModelContainer.engine.override(providers.Callable(serving.new_engine)):
            await serving.service.reload(both)
        assert await said(client, model="second")
        await serving.service.reload(serving.settings())
        response = await client.get("/v1/models")
        assert [card["id"] for card in response.json()["data"]] == ["tiny"]
        assert lifecycle_of(old).objects, "the one that stayed is loaded"


ADMIN = {"Authorization": "Bearer admin-secret"}


@pytest.fixture
def administered(folder: str) -> Serving:
    serving = Serving(folder, admin_keys=["admin-secret"])
    serving.service.load_settings = lambda: serving.settings(mark="1")
    return serving


async def test_an_administrator_reloads_by_http(administered: Serving) -> None:
    async with administered.client() as client:
        before = await said(client)
        url = "/admin/reload"
        assert (await client.post(url)).status_code == 401
        dry = await client.post(f"{url}?dry_run=true", headers=ADMIN)
        assert dry.status_code == 200, dry.text
        assert before == await said(client)
        wet = await client.post(url, headers=ADMIN)
        assert wet.json() == dry.json() | {"dry_run": False}
        (model,) = wet.json()["models"]
        assert "chat_template" in model["rebuilt"]
        assert model["restarts_engine"] is False
        assert before != await said(client)


async def test_settings_that_cannot_be_had_are_409_and_change_nothing(
    administered: Serving,
) -> None:
    def broken() -> Settings:
        raise SettingsError(reason="it is broken", file="config.yaml", line=3)

    administered.service.load_settings = broken
    async with administered.client() as client:
        before = await said(client)
        response = await client.post("/admin/reload", headers=ADMIN)
        assert response.status_code == 409
        assert "config.yaml:3" in response.json()["error"]["message"]
        administered.service.load_settings = None
        response = await client.post("/admin/reload", headers=ADMIN)
        assert "made in Python" in response.json()["error"]["message"]
        assert before == await said(client)


async def test_a_key_is_changed_without_a_restart(folder: str) -> None:
    serving = Serving(folder, api_keys=["old-key"], admin_keys=["admin-secret"])

    async def status(client: httpx.AsyncClient, key: str) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return (await client.get("/v1/models", headers=headers)).status_code

    async with serving.client() as client:
        assert (await status(client, "old-key"), await status(client, "new-key")) == (
            200,
            401,
        )
        serving.server = serving.server | {"api_keys": ["new-key"]}
        await serving.service.reload(serving.settings())
        assert (await status(client, "old-key"), await status(client, "new-key")) == (
            401,
            200,
        )


async def test_reloads_queue(serving: Serving) -> None:
    async with serving.client() as client:
        marks = ["1", "2", "3"]
        await asyncio.gather(
            *(serving.service.reload(serving.settings(mark=mark)) for mark in marks)
        )
        await said(client)
        template = serving.service.models[0].loaded.chat_template.text
        assert template == TEMPLATE.format(mark="3")


async def test_nothing_of_an_old_generation_is_left(serving: Serving) -> None:
    import gc
    from weakref import ref

    async with serving.client() as client:
        served = serving.service.models[0]
        left = [ref(served.loaded.serving_chat)]
        for mark in "1234":
            await said(client)
            await serving.service.reload(serving.settings(mark=mark))
            # The first container is that of who has made the app.
            left.append(ref(served.generation.container))
        last = left.pop()
        await eventually(lambda: gc.collect() >= 0 and not any(each() for each in left))
        assert last() is not None


async def test_limits_are_changed_without_a_restart(serving: Serving) -> None:
    async with serving.client() as client:
        await said(client)
        serving.server |= {"max_body_bytes": 10}
        await serving.service.reload(serving.settings())
        url = "/v1/chat/completions"
        assert (await client.post(url, json=QUESTION)).status_code == 413
        serving.server |= {"max_body_bytes": None, "max_concurrent_requests": 1}
        await serving.service.reload(serving.settings())
        both = await asyncio.gather(*(client.post(url, json=QUESTION) for _ in "ab"))
        assert sorted(answer.status_code for answer in both) == [200, 503]
        serving.server |= {"max_concurrent_requests": 2}
        await serving.service.reload(serving.settings())
        both = await asyncio.gather(*(client.post(url, json=QUESTION) for _ in "ab"))
        assert [answer.status_code for answer in both] == [200, 200]


async def test_what_a_key_has_used_up_stays_used_up(folder: str) -> None:
    keys = {"api_keys": ["a-key"], "admin_keys": ["admin-secret"]}
    serving = Serving(folder, **keys, max_requests_per_minute_per_key=1)
    bearer = {"Authorization": "Bearer a-key"}
    async with serving.client() as client:

        async def statuses(n: int) -> list[int]:
            answers = [await client.get("/v1/models", headers=bearer) for _ in range(n)]
            return [answer.status_code for answer in answers]

        assert await statuses(2) == [200, 429]
        serving.server |= {"max_requests_per_minute_per_key": 3}
        await serving.service.reload(serving.settings())
        assert await statuses(3) == [200, 200, 429]
        serving.server |= {"max_requests_per_minute_per_key": None}
        await serving.service.reload(serving.settings())
        assert await statuses(3) == [200, 200, 200]


async def test_a_file_of_keys_that_is_not_there_leaves_the_models_as_they_were(
    folder: str,
) -> None:
    serving = Serving(folder, admin_keys=["admin-secret"])
    async with serving.client() as client:
        before = await said(client)
        serving.server |= {"admin_keys_file": "/nowhere/keys"}
        with pytest.raises(SettingsError, match="nowhere"):
            await serving.service.reload(serving.settings(mark="1"))
        assert before == await said(client)


async def test_a_template_file_that_has_changed_is_read_anew(
    serving: Serving, tmp_path: Path
) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text(TEMPLATE.format(mark="1"))
    new = serving.settings(chat={"template": str(file)})
    async with serving.client() as client:
        await serving.service.reload(new)
        before = await said(client)
        (plan,) = (await serving.service.reload(new)).plans
        assert plan.rebuilt == ()
        file.write_text(TEMPLATE.format(mark="2"))
        (plan,) = (await serving.service.reload(new)).plans
        assert "chat_template" in plan.rebuilt
        assert before != await said(client)


def metrics_of(text: str) -> dict[str, float]:
    samples = [line.rpartition(" ") for line in text.splitlines() if line[:1] != "#"]
    return {
        name: float(value)
        for name, _, value in samples
        if name.startswith("vllm_di_") and "_created" not in name
    }


async def test_an_engine_that_hangs_is_replaced(serving: Serving) -> None:
    canary = {"interval_s": 0.02, "timeout_s": 0.05, "max_failures": 2}
    async with serving.client() as client:
        await serving.service.reload(serving.settings(canary=canary))
        await serving.engines[0].pause_generation(mode="keep")
        (model,) = serving.service.models
        await eventually(lambda: len(serving.engines) > 1 and model.is_ready)
        assert await said(client)
        metrics = metrics_of((await client.get("/metrics")).text)
        healed = 'vllm_di_heals_total{cause="hang",model_name="tiny"}'
        assert metrics[healed] == 1.0


async def test_metrics_tell_what_has_happened(serving: Serving) -> None:
    async with serving.client() as client:
        await serving.service.reload(serving.settings(mark="1"))
        with pytest.raises(StartError):
            await serving.service.reload(serving.settings(mark="{{"))
        serving.engines[0].die()
        (model,) = serving.service.models
        await eventually(lambda: len(serving.engines) == 2 and model.is_ready)
        metrics = metrics_of((await client.get("/metrics")).text)
        assert metrics['vllm_di_reloads_total{outcome="done"}'] == 1.0
        assert metrics['vllm_di_reloads_total{outcome="refused"}'] == 1.0
        assert metrics['vllm_di_heals_total{cause="death",model_name="tiny"}'] == 1.0
        assert metrics['vllm_di_generation{model_name="tiny"}'] == 3.0
        assert metrics['vllm_di_model_ready{model_name="tiny"}'] == 1.0
        seconds = metrics['vllm_di_generation_start_seconds{model_name="tiny"}']
        assert 0 < seconds < 60
        n_series = len(metrics)
        for mark in "1234":
            await serving.service.reload(serving.settings(mark=mark))
        assert len(metrics_of((await client.get("/metrics")).text)) == n_series
