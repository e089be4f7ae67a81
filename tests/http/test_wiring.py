"""The classic way, ``container.wire`` and ``Provide[...]``, for those who use it."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import pytest
from dependency_injector.containers import Container
from dependency_injector.wiring import Provide, inject
from fastapi import Depends, FastAPI
from starlette.testclient import TestClient

from app import include_serving
from containers import ModelContainer
from containers.errors import NotReadyError
from containers.testing import FakeEngine
from tests.http.test_answers import QUESTION


@pytest.fixture
def module() -> types.ModuleType:
    """A module of routes, made anew so that wiring it concerns nobody else."""
    module = types.ModuleType("own_routes")
    module.inject, module.Provide, module.Depends = inject, Provide, Depends
    module.ModelContainer, module.FastAPI = ModelContainer, FastAPI
    source = """
app = FastAPI()

@app.get("/chat")
@inject
async def chat(chat=Depends(Provide[ModelContainer.serving_chat])) -> str:
    return type(chat).__name__

@inject
def plain(engine=Provide[ModelContainer.engine]):
    return engine
"""
    exec(source, module.__dict__)  # noqa: S102  # a module needs a source
    return module


@pytest.fixture
def wired(serving_container: Container, module: types.ModuleType) -> Iterator[Any]:
    serving_container.wire(modules=[module], warn_unresolved=True)
    yield module
    serving_container.unwire()


def test_a_wired_route_receives_the_loaded_object(
    wired: Any, serving_container: Container
) -> None:
    include_serving(wired.app, serving_container)
    with TestClient(wired.app) as client:
        assert client.get("/chat").json() == "ServingChat"
        assert client.post("/v1/chat/completions", json=QUESTION).is_success


def test_a_wired_function_needs_no_await(
    wired: Any, serving_container: Container, serving_engine: FakeEngine
) -> None:
    include_serving(wired.app, serving_container)
    with TestClient(wired.app):
        assert wired.plain() is serving_engine


def test_a_wired_route_starts_nothing(wired: Any, serving_container: Container) -> None:
    with pytest.raises(NotReadyError):
        TestClient(wired.app).get("/chat")
    with pytest.raises(NotReadyError):
        serving_container.tokenizer()


async def test_the_classic_calls_start_and_stop_in_our_order(
    serving_container: Container, serving_engine: FakeEngine
) -> None:
    await serving_container.init_resources()
    assert serving_container.serving_chat().tokenizer is serving_container.tokenizer()
    await serving_container.shutdown_resources()
    with pytest.raises(NotReadyError):
        serving_container.serving_chat()
