"""Several models in one app: who answers what, and what becomes of those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from dependency_injector import providers
from dependency_injector.containers import Container
from starlette.testclient import TestClient

from app import create_app
from app.service import STATE_ATTRIBUTE, Service
from containers import ApplicationContainer, ModelContainer, ModelSettings, Settings
from containers.errors import SourceError, StartError
from containers.testing import FakeEngine, tiny_model

QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 8}


class Models:
    """Two chat models, ``paris`` and ``rome``, each with a double for its engine."""

    def __init__(self, folder: Any, **server: Any) -> None:
        self.engines = {
            name: FakeEngine(f"{name.title()}.") for name in ("paris", "rome")
        }
        entries = [
            ModelSettings(name=name, source=folder, engine={"enforce_eager": True})
            for name in self.engines
        ]
        self.containers = {each.name: ModelContainer(settings=each) for each in entries}
        for name, engine in self.engines.items():
            self.containers[name].engine.override(engine)
        self.application = ApplicationContainer(
            settings=Settings(models=entries, server=server),
            models=providers.Object(self.containers),
        )

    def fail(self, name: str) -> None:
        """Let a model's start fail."""

        def absent(**_: object) -> str:
            raise SourceError(source=name, reason="it is not there", hint="Find it.")

        self.containers[name].model.set_provides(absent)

    def client(self, *, wait_until_ready: bool = True) -> TestClient:
        app = create_app(self.application, wait_until_ready=wait_until_ready)
        return TestClient(app)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model(tmp_path_factory.mktemp("several")))


@pytest.fixture
def models(folder: str) -> Models:
    return Models(folder)


def eventually(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never came true")


def said(client: TestClient, **body: Any) -> str:
    response = client.post("/v1/chat/completions", json=QUESTION | body)
    assert response.status_code == 200, response.text
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


def test_each_request_goes_to_the_model_it_names(models: Models) -> None:
    with models.client() as client:
        assert said(client, model="paris") == "Paris."
        assert said(client, model="rome") == "Rome."
        assert said(client) == "Paris."
        tokens = client.post("/tokenize", json={"model": "rome", "prompt": "a"})
        assert tokens.status_code == 200


def test_all_of_them_are_listed(models: Models) -> None:
    with models.client() as client:
        cards = client.get("/v1/models").json()["data"]
        assert [card["id"] for card in cards] == ["paris", "rome"]


def test_a_name_nobody_serves_is_404_and_told_the_served_ones(models: Models) -> None:
    with models.client() as client:
        body = QUESTION | {"model": "london"}
        refused = client.post("/v1/chat/completions", json=body)
        error = refused.json()["error"]
        assert (refused.status_code, error["param"]) == (404, "model")
        assert error["message"] == (
            "The model `london` does not exist. Valid aliases: paris, rome."
        )


def test_one_that_does_not_start_leaves_the_others_serving(models: Models) -> None:
    models.fail("paris")
    with models.client() as client:
        assert said(client, model="rome") == "Rome."
        assert said(client) == "Rome."
        refused = client.post(
            "/v1/chat/completions", json=QUESTION | {"model": "paris"}
        )
        assert refused.status_code == 503
        assert "'paris' is not loaded (failed)" in refused.json()["error"]["message"]
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json()["models"] == {"paris": "failed", "rome": "ready"}
        cards = client.get("/v1/models").json()["data"]
        assert [card["id"] for card in cards] == ["rome"]


def test_the_settings_can_require_all_of_them(folder: str) -> None:
    models = Models(folder, require_all_models=True)
    models.fail("rome")
    with pytest.raises(StartError, match="it is not there"), models.client():
        pass
    assert models.engines["paris"].shutdown_count == 0, "a double is not ours to stop"
    assert not models.application.registry().models[0].is_ready


def test_none_that_starts_is_a_failed_start(models: Models) -> None:
    models.fail("paris")
    models.fail("rome")
    with pytest.raises(StartError, match="it is not there"), models.client():
        pass


def test_a_dead_engine_leaves_the_other_model_serving(models: Models) -> None:
    with models.client() as client:
        models.engines["paris"].die()
        eventually(
            lambda: client.get("/readyz").json()["models"]["paris"] == "engine dead"
        )
        assert client.get("/readyz").status_code == 200
        assert said(client, model="rome") == "Rome."
        refused = client.post(
            "/v1/chat/completions", json=QUESTION | {"model": "paris"}
        )
        assert refused.status_code == 503
        models.engines["rome"].die()
        service: Service = getattr(client.app.state, STATE_ATTRIBUTE)  # type: ignore[attr-defined]  # a FastAPI app
        eventually(lambda: service.state == "engine dead")
        assert client.get("/readyz").status_code == 503


def test_a_model_answers_before_the_next_one_is_loaded(models: Models) -> None:
    build = models.containers["rome"].tokenizer.provides

    def slow(**injected: object) -> object:
        time.sleep(0.5)
        return build(**injected)

    models.containers["rome"].tokenizer.set_provides(slow)
    with models.client(wait_until_ready=False) as client:
        eventually(lambda: client.get("/v1/models").status_code == 200)
        assert said(client, model="paris") == "Paris."
        early = client.post("/v1/chat/completions", json=QUESTION | {"model": "rome"})
        assert early.status_code == 503
        assert client.get("/readyz").status_code == 503
        eventually(lambda: client.get("/readyz").status_code == 200)
        assert said(client, model="rome") == "Rome."


def test_a_second_start_of_the_same_app_serves_them_again(models: Models) -> None:
    client = models.client()
    for _ in range(2):
        with client:
            assert said(client, model="rome") == "Rome."


def test_models_stop_in_reverse_order(models: Models) -> None:
    stopped: list[str] = []

    def note(name: str, container: Container) -> None:
        build = container.model.provides

        def noted(**injected: Any) -> Any:
            yield build(**injected)
            stopped.append(name)

        container.model.set_provides(noted)

    for name, container in models.containers.items():
        note(name, container)
    with models.client():
        pass
    assert stopped == ["rome", "paris"]
