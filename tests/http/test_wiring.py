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
def wired(container: Container, module: types.ModuleType) -> Iterator[Any]:
    container.wire(modules=[module], warn_unresolved=True)
    yield module
    container.unwire()


def test_a_wired_route_receives_the_loaded_object(
    wired: Any, container: Container
) -> None:
    include_serving(wired.app, container)
    with TestClient(wired.app) as client:
        assert client.get("/chat").json() == "ServingChat"
        assert client.post("/v1/chat/completions", json=QUESTION).is_success


def test_a_wired_function_needs_no_await(
    wired: Any, container: Container, engine: FakeEngine
) -> None:
    include_serving(wired.app, container)
    with TestClient(wired.app):
        assert wired.plain() is engine


def test_a_wired_route_starts_nothing(wired: Any, container: Container) -> None:
    with pytest.raises(NotReadyError):
        TestClient(wired.app).get("/chat")
    with pytest.raises(NotReadyError):
        container.tokenizer()


async def test_the_classic_calls_start_and_stop_in_our_order(
    container: Container, engine: FakeEngine
) -> None:
    await container.init_resources()
    assert container.serving_chat().tokenizer is container.tokenizer()
    await container.shutdown_resources()
    with pytest.raises(NotReadyError):
        container.serving_chat()
