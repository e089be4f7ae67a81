"""Objects that routes of one's own are given are read, with the same outcome."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from dependency_injector.containers import Container
from fastapi import Depends, FastAPI, Request
from starlette.testclient import TestClient

from app import (
    ChatTemplateDep,
    EngineDep,
    RegistryDep,
    ServingChatDep,
    TokenizerDep,
    include_serving,
)
from app import injection as reading
from app.dependencies import registry
from app.service import STATE_ATTRIBUTE
from containers.errors import NotReadyError
from containers.lifecycle import Running
from containers.testing import FakeEngine


async def own() -> str:
    return "own"


def an_app(container: Container) -> FastAPI:
    app = FastAPI()
    include_serving(app, container)

    @app.get("/names/{number}")
    async def names(  # noqa: PLR0917  # FastAPI passes them by name
        number: int,
        models: RegistryDep,
        engine: EngineDep,
        tokenizer: TokenizerDep,
        chat_template: ChatTemplateDep,
        chat: ServingChatDep,
        word: str = "a",
    ) -> list[Any]:
        assert isinstance(engine, FakeEngine)
        assert tokenizer is container.tokenizer()
        kinds = [type(each).__name__ for each in (engine, chat_template, chat)]
        return [number, word, *models.names, *kinds]

    @app.get("/path")
    async def path(request: Request, models: RegistryDep) -> str:
        return f"{request.url.path} {len(models.models)}"

    return app


@contextmanager
def solving() -> Iterator[list[str]]:
    """Names of the routes whose dependencies FastAPI has solved meanwhile."""
    read: list[str] = []
    found = reading._found

    def noted(app: FastAPI, given: Any) -> Any:
        objects = found(app, given)
        read.append("read" if objects is not None else "solved")
        return objects

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_found", noted)
        yield read


def test_objects_are_read_where_only_ours_are_injected(
    serving_container: Container,
) -> None:
    app = an_app(serving_container)
    with solving() as ways, TestClient(app) as client:
        read = client.get("/names/3?word=b").json()
        assert client.get("/path").json() == "/path 1"
        assert client.get("/names/x").status_code == 422
    assert ways == ["read"] * 3
    assert read == [3, "b", "tiny", "FakeEngine", "ChatTemplate", "ServingChat"]


def test_what_cannot_be_read_is_solved_and_says_why(
    serving_container: Container,
) -> None:
    app = an_app(serving_container)
    with solving() as ways, TestClient(app) as client:
        service = getattr(app.state, STATE_ATTRIBUTE)
        service.state = "draining"
        with pytest.raises(NotReadyError, match="draining"):
            service.registry.require_some()
        answer = client.get("/names/3")
        service.state = "ready"
    assert (answer.status_code, ways) == (503, ["solved"])
    assert "draining" in answer.text


def test_the_default_model_is_in_use_where_it_may_go(
    serving_container: Container,
) -> None:
    app = an_app(serving_container)

    @app.get("/uses")
    async def uses(engine: EngineDep, request: Request) -> int:
        await asyncio.sleep(0)
        (model,) = getattr(request.app.state, STATE_ATTRIBUTE).models
        return int(model.uses.n)

    with TestClient(app) as client:
        (model,) = getattr(app.state, STATE_ATTRIBUTE).models
        assert client.get("/uses").json() == 0
        idle = model.settings.model_copy(update={"idle_timeout_s": 60.0})
        with serving_container.settings.override(idle), solving() as ways:
            assert client.get("/uses").json() == 1
        assert ways == ["solved"]
        assert client.get("/uses").json() == 0


def test_an_override_is_obeyed(serving_container: Container) -> None:
    app = an_app(serving_container)

    async def none() -> Any:
        raise NotReadyError(provider="the model", state="overridden", hint="")

    with TestClient(app) as client:
        assert client.get("/path").status_code == 200
        app.dependency_overrides[registry] = none
        assert "overridden" in client.get("/path").text
        app.dependency_overrides.clear()
        assert client.get("/path").status_code == 200


def test_routes_with_dependencies_of_the_hosts_or_in_threads_stay(
    serving_container: Container,
) -> None:
    app = an_app(serving_container)

    @app.get("/own")
    async def with_own(engine: EngineDep, value: Annotated[str, Depends(own)]) -> str:
        return value

    @app.get("/thread")
    def in_a_thread(engine: EngineDep) -> str:
        return type(engine).__name__

    with solving() as ways, TestClient(app) as client:
        assert client.get("/own").json() == "own"
        assert client.get("/thread").json() == "FakeEngine"
    assert ways == []


class Thing:
    """Something loaded."""


def models_of(loaded: Running) -> Any:
    def serving(provider: str, _: None) -> Any:
        return f"another model's {provider}"

    return SimpleNamespace(at_hand=lambda: loaded, serving=serving)


def test_objects_are_read_once_for_each_generation_and_not_kept_longer() -> None:
    n_read = 0

    def engine(hand: reading.Hand) -> Any:
        nonlocal n_read
        n_read += 1
        return hand.loaded.engine

    given = reading.Given({"engine": engine})
    first, second = Running({"engine": Thing()}), Running({"engine": Thing()})
    kept = weakref.ref(first.engine)
    for loaded in (first, first, second, second, first):
        assert given.by(models_of(loaded)) == {"engine": loaded.engine}
    assert n_read == 3
    del first, loaded
    gc.collect()
    assert kept() is None
    assert given.by(models_of(second)) == {"engine": second.engine}


def test_an_object_of_another_model_is_asked_for_each_time() -> None:
    given = reading.Given({"chat": lambda hand: hand.serving("serving_chat")})
    without, having = Running({}), Running({"serving_chat": "chat"})
    for loaded, found in (
        (without, "another model's serving_chat"),
        (having, "chat"),
        (without, "another model's serving_chat"),
    ):
        assert given.by(models_of(loaded)) == {"chat": found}
