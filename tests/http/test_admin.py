"""What administrators can do to a model while it serves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from dependency_injector import providers
from starlette.testclient import TestClient

from app import create_app
from app.others import Nobody
from app.service import STATE_ATTRIBUTE, Service
from containers import (
    ApplicationContainer,
    ModelContainer,
    ModelSettings,
    Settings,
    vllm_api,
)
from containers.testing import FakeEngine, tiny_model
from containers.vllm_api.server_info import MASK

ADMIN = {"Authorization": "Bearer mighty"}
CHAT = "/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 8}
PROFILER = {"profiler": "torch", "torch_profiler_dir": "/nowhere/traces"}


class Engine(FakeEngine):
    """A double that notes what administrators ask of it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.asked: list[Any] = []

    async def sleep(self, level: int = 1, mode: Any = "abort") -> None:
        self.asked.append(("sleep", level, mode))
        await super().sleep(level, mode)

    async def start_profile(
        self, profile_prefix: str | None = None, **options: Any
    ) -> None:
        self.asked.append(("start_profile", profile_prefix, options))

    async def stop_profile(self) -> None:
        self.asked.append("stop_profile")

    async def reset_prefix_cache(
        self, reset_running_requests: bool = False, reset_connector: bool = False
    ) -> bool:
        self.asked.append((reset_running_requests, reset_connector))
        return not reset_connector


class Served:
    """Models by name, each with an engine that notes, behind one admin key."""

    def __init__(self, folder: str, *names: str, engine: Any = None) -> None:
        entries = [
            ModelSettings(
                name=name,
                source=folder,
                engine={"enforce_eager": True, "hf_token": "hunter2"} | (engine or {}),
            )
            for name in names
        ]
        self.engines = {name: Engine(f"{name}.") for name in names}
        self.containers = {each.name: ModelContainer(settings=each) for each in entries}
        for name, double in self.engines.items():
            self.containers[name].engine.override(double)
        settings = Settings.model_validate(
            {"models": entries, "server": {"admin_keys": ["mighty"]}}
        )
        self.application = ApplicationContainer(
            settings=settings, models=providers.Object(self.containers)
        )

    @contextmanager
    def client(self) -> Iterator[TestClient]:
        with TestClient(create_app(self.application), headers=ADMIN) as client:
            yield client


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model(tmp_path_factory.mktemp("admin")))


@pytest.fixture
def served(folder: str) -> Served:
    return Served(folder, "paris")


def test_a_sleeping_model_is_not_ready_and_its_requests_wait(served: Served) -> None:
    with served.client() as client:
        assert client.get("/is_sleeping").json() == {"is_sleeping": False}
        asleep = client.post("/sleep?level=0&mode=wait")
        assert asleep.json() == {"status": "sleeping", "level": 0}
        assert served.engines["paris"].asked == [("sleep", 0, "wait")]
        assert client.get("/is_sleeping").json() == {"is_sleeping": True}
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["models"] == {"paris": "asleep"}
        assert client.get("/health").status_code == 503
        awake = client.post("/wake_up?tags=weights&tags=kv_cache")
        assert awake.json() == {"status": "awake", "tags": ["weights", "kv_cache"]}
        assert client.get("/readyz").status_code == 200
        assert client.post(CHAT, json=QUESTION).status_code == 200
        assert client.post("/wake_up").json() == {"status": "awake", "tags": None}


@pytest.mark.parametrize(
    "query", ["level=3", "level=-1", "level=x", "level=0&mode=deep"]
)
def test_a_sleep_that_is_none_is_400(served: Served, query: str) -> None:
    with served.client() as client:
        refused = client.post(f"/sleep?{query}")
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == 400
    assert served.engines["paris"].asked == []


class Others(Nobody):
    """Other front ends that note how often they are to forget what they have read."""

    n_resets = 0

    async def reset_mm_cache(self) -> None:
        self.n_resets += 1


def test_what_other_front_ends_have_read_is_forgotten_too(served: Served) -> None:
    with served.client() as client:
        service: Service = getattr(client.app.state, STATE_ATTRIBUTE)  # type: ignore[attr-defined]  # an ASGI app of FastAPI's
        service.others = others = Others()
        assert client.post("/reset_mm_cache").status_code == 200
        assert others.n_resets == 1
        client.post("/sleep?level=0")
        client.post("/wake_up")
        assert others.n_resets == 1  # a light sleep forgets nothing
        loaded = served.application.registry().models[0].loaded
        loaded.vllm_config.model_config.enable_sleep_mode = True
        client.post("/sleep?level=1")
        assert others.n_resets == 2
        client.post("/wake_up")


def test_an_engine_without_sleep_mode_is_not_sent_to_deep_sleep(served: Served) -> None:
    with served.client() as client:
        refused = client.post("/sleep")
        assert refused.status_code == 400
        assert "engine.enable_sleep_mode" in refused.json()["error"]["message"]
        loaded = served.application.registry().models[0].loaded
        loaded.vllm_config.model_config.enable_sleep_mode = True
        assert client.post("/sleep").json() == {"status": "sleeping", "level": 1}
        client.post("/wake_up")


def test_with_several_models_one_is_named(folder: str) -> None:
    served = Served(folder, "paris", "rome")
    with served.client() as client:
        unnamed = client.post("/sleep?level=0")
        assert unnamed.status_code == 400
        assert "paris, rome" in unnamed.json()["error"]["message"]
        unknown = client.post("/sleep?level=0&model=london")
        assert unknown.status_code == 404
        assert client.post("/sleep?level=0&model=rome").status_code == 200
        assert client.get("/is_sleeping?model=paris").json() == {"is_sleeping": False}
        assert client.get("/is_sleeping?model=rome").json() == {"is_sleeping": True}
        assert client.get("/readyz").status_code == 200
        assert client.post(CHAT, json=QUESTION | {"model": "paris"}).is_success
        assert client.post("/wake_up", json={"model": "rome"}).status_code == 200
        assert client.get("/is_sleeping?model=rome").json() == {"is_sleeping": False}


@pytest.mark.skipif(
    not vllm_api.offers("StartProfileRequest"), reason="a body came with vLLM 0.32"
)
def test_a_model_is_profiled_where_it_has_a_profiler(folder: str) -> None:
    served = Served(folder, "paris", engine={"profiler_config": PROFILER})
    with served.client() as client:
        assert client.post("/start_profile").status_code == 200
        limits = {"max_iterations": 3, "profile_prefix": "a", "model": "paris"}
        assert client.post("/start_profile", json=limits).status_code == 200
        assert client.post("/stop_profile").status_code == 200
        wrong = client.post("/start_profile", json={"max_iterations": "3"})
        assert wrong.status_code == 400
    assert served.engines["paris"].asked == [
        ("start_profile", None, {}),
        ("start_profile", "a", {"max_iterations": 3}),
        "stop_profile",
    ]


def test_a_model_without_a_profiler_is_left_alone(served: Served) -> None:
    with served.client() as client:
        for path in ("/start_profile", "/stop_profile"):
            refused = client.post(path)
            assert refused.status_code == 400
            assert "engine.profiler_config" in refused.json()["error"]["message"]
    assert served.engines["paris"].asked == []


def test_caches_are_forgotten(served: Served) -> None:
    with served.client() as client:
        assert client.post("/reset_prefix_cache").json() == {"success": True}
        query = "reset_running_requests=true&reset_external=true"
        held = client.post(f"/reset_prefix_cache?{query}")
        assert held.json() == {"success": False}
        assert client.post("/reset_mm_cache").status_code == 200
        assert client.post("/reset_encoder_cache").status_code == 200
    assert served.engines["paris"].asked == [(False, False), (True, True)]


def test_server_info_tells_the_configuration_and_no_secret(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "hunter2")
    with served.client() as client:
        response = client.get("/server_info")
    assert response.status_code == 200
    info = response.json()
    assert info["vllm_config"]["model_config"]["enforce_eager"] is True
    assert info["vllm_config"]["model_config"]["tokenizer_mode"]
    assert info["vllm_env"]["VLLM_API_KEY"] == MASK
    assert info["vllm_env"]["VLLM_LOGGING_LEVEL"]
    assert "hunter2" not in response.text
    assert json.dumps(info).count(MASK) == response.text.count(MASK)


def test_before_a_model_is_loaded_nothing_can_be_done_to_it(served: Served) -> None:
    client = TestClient(create_app(served.application), headers=ADMIN)
    for path in ("/sleep", "/wake_up", "/start_profile", "/reset_prefix_cache"):
        refused = client.post(path)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"]


async def test_a_request_to_a_sleeping_model_goes_on_when_it_wakes_up(
    folder: str,
) -> None:
    engine = FakeEngine("Paris.")
    await engine.sleep(0)
    container = ModelContainer(
        settings=ModelSettings(
            name="paris", source=folder, engine={"enforce_eager": True}
        )
    )
    container.engine.override(engine)
    app = create_app(container)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://a") as client,
    ):
        asked = asyncio.create_task(client.post(CHAT, json=QUESTION))
        await asyncio.sleep(0.1)
        assert not asked.done()
        await engine.wake_up()
        assert (await asked).status_code == 200
