"""Pooling objects use the tokenizer and the chat template they were given."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from containers import (
    ChatTemplate,
    ModelContainer,
    Running,
    resources,
    running,
    vllm_api,
)
from containers.errors import InjectionError
from containers.testing import FakeEngine
from containers.vllm_api.tasks import configured_tasks
from tests.http.pooling_models import settings_of
from tests.serving.built import served_models

OBJECTS = {
    "serving_embedding": "vectors",
    "serving_pooling": "vectors",
    "serving_scores": "vectors",
    "serving_classification": "classes",
}
"""Each object, and a kind of model that has it."""


@pytest.fixture
async def model(tiny_folder: Path, name: str) -> AsyncIterator[Running]:
    container = ModelContainer(settings=settings_of(OBJECTS[name], tiny_folder))
    container.engine.override(FakeEngine())
    async with running(container) as started:
        yield started


def arguments_of(model: Running, name: str) -> dict[str, Any]:
    """Constructor arguments of a serving object, as the container passes them."""
    takes = inspect.signature(type(getattr(model, name)).__init__).parameters
    given = {key: getattr(model, key) for key in takes if hasattr(model, key)}
    return given | {"settings": model.settings.chat}


@pytest.mark.parametrize("name", OBJECTS)
async def test_a_constructor_refuses_what_is_not_loaded(
    model: Running, name: str
) -> None:
    kind, arguments = type(getattr(model, name)), arguments_of(model, name)
    for argument in ("tokenizer", "chat_template"):
        for found in (None, "a name", object()):
            with pytest.raises(InjectionError) as caught:
                kind(**arguments | {argument: found})
            assert caught.value.argument == argument
        with pytest.raises(TypeError, match=argument):
            kind(**{key: arguments[key] for key in arguments.keys() - {argument}})
    with pytest.raises(InjectionError, match="built around, got another one"):
        kind(**arguments | {"tokenizer": copy(model.tokenizer)})


@pytest.mark.parametrize("name", OBJECTS)
async def test_it_holds_the_containers_tokenizer_and_renderer(
    model: Running, name: str
) -> None:
    serving = getattr(model, name)
    assert serving.tokenizer is model.tokenizer
    assert serving.renderer is model.renderer


@pytest.mark.parametrize("name", ["serving_pooling"])
async def test_messages_are_rendered_with_the_template_it_was_given(
    model: Running, name: str
) -> None:
    template = ChatTemplate.literal("mine: {{ messages[0].content }}")
    arguments = arguments_of(model, name) | {"chat_template": template}
    serving = type(getattr(model, name))(**arguments)
    body = {"messages": [{"role": "user", "content": "hello"}]}
    await serving(TypeAdapter(vllm_api.PoolingRequest).validate_python(body))
    ids = model.engine.requests[-1].prompt_token_ids
    assert model.tokenizer.decode(ids).endswith("mine: hello")


@pytest.mark.parametrize("kind", ["vectors", "classes"])
def test_they_are_constructed_without_any_loop(tiny_folder: Path, kind: str) -> None:
    settings = settings_of(kind, tiny_folder)
    config = resources.vllm_config(settings=settings, model=settings.source)
    tokenizer = resources.tokenizer(vllm_config=config)
    building = resources.renderer(vllm_config=config, tokenizer=tokenizer)
    renderer, engine = next(building), FakeEngine()
    parts = {
        "supported_tasks": configured_tasks(config),
        "engine": engine,
        "models": asyncio.run(
            served_models(
                names=[kind], engine=engine, renderer=renderer, vllm_config=config
            )
        ),
        "tokenizer": tokenizer,
        "chat_template": ChatTemplate.literal("{{ messages }}"),
        "renderer": renderer,
        "vllm_config": config,
        "settings": settings.chat,
    }
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()
    for name, has_by in OBJECTS.items():
        has_it = has_by == kind or name == "serving_pooling"
        assert (getattr(resources, name)(**parts) is not None) is has_it
    assert list(building) == []
