"""The case this project exists for: serving objects and event loops, in every order.

vLLM once loaded the tokenizer in a background task, so a serving chat built inside a
running loop met ``tokenizer is None``. Here the real serving stack runs over a double.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from dependency_injector.containers import Container
from fastapi import FastAPI

from containers import ModelContainer, ModelSettings, resources, running
from containers.testing import FakeEngine
from tests.serving.built import served_models

NewContainer = Callable[[], Container]


def question() -> Any:
    from containers.vllm_api import ChatCompletionRequest

    return ChatCompletionRequest(
        model="tiny",
        messages=[{"role": "user", "content": "What is the capital of France?"}],
    )


async def answer_of(container: Container) -> str:
    """Start, use at once, stop."""
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as model:
        completion = await model.serving_chat.create_chat_completion(question())
        return str(completion.choices[0].message.content)


Runner = Callable[[Coroutine[Any, Any, str]], str]


def in_a_thread_of_its_own(work: Coroutine[Any, Any, str]) -> str:
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work)))
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run, in_a_thread_of_its_own])
def test_built_and_used_inside_a_running_loop(
    run: Runner, new_container: NewContainer
) -> None:
    assert run(answer_of(new_container())) == "Paris."


def test_the_same_container_runs_on_one_loop_after_another(
    new_container: NewContainer,
) -> None:
    container = new_container()
    assert asyncio.run(answer_of(container)) == "Paris."
    assert uvloop.run(answer_of(container)) == "Paris."


def test_two_loops_in_two_threads_at_once(new_container: NewContainer) -> None:
    answers: list[str] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(asyncio.run(answer_of(new_container())))
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["Paris.", "Paris."]


def test_built_in_the_lifespan_of_an_app_of_ones_own(
    new_container: NewContainer,
) -> None:
    from starlette.testclient import TestClient

    container = new_container()
    container.engine.override(FakeEngine("Paris."))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> Any:
        async with running(container) as model:
            app.state.chat = model.serving_chat
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/capital")
    async def capital() -> str:
        completion = await app.state.chat.create_chat_completion(question())
        return str(completion.choices[0].message.content)

    with TestClient(app) as client:
        assert client.get("/capital").json() == "Paris."


def test_constructed_without_any_loop(model_settings: ModelSettings) -> None:
    """No loop runs, or exists, while the serving objects are constructed."""
    config = resources.vllm_config(settings=model_settings, model=model_settings.source)
    tokenizer = resources.tokenizer(vllm_config=config)
    template = resources.chat_template(
        settings=model_settings.chat, vllm_config=config, tokenizer=tokenizer
    )
    building = resources.renderer(vllm_config=config, tokenizer=tokenizer)
    renderer = next(building)
    online_renderer = resources.online_renderer(
        settings=model_settings.chat,
        vllm_config=config,
        renderer=renderer,
        chat_template=template,
    )
    engine = FakeEngine("Paris.")
    models = asyncio.run(
        served_models(
            names=["tiny"], engine=engine, renderer=renderer, vllm_config=config
        )
    )
    parts = {
        "models": models,
        "tokenizer": tokenizer,
        "chat_template": template,
        "online_renderer": online_renderer,
        "settings": model_settings.chat,
    }
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()
    resources.serving_tokenization(**parts)
    parts |= {
        "supported_tasks": ("generate",),
        "engine": engine,
        "vllm_config": config,
    }
    resources.serving_completion(**parts)
    resources.serving_chat_batch(**parts)
    resources.serving_messages(**parts)
    resources.serving_responses(**parts)
    chat = resources.serving_chat(**parts)
    completion = asyncio.run(chat.create_chat_completion(question()))
    assert completion.choices[0].message.content == "Paris."
    building.close()


async def test_twenty_requests_at_once_right_after_the_start(
    new_container: NewContainer,
) -> None:
    container = new_container()
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as model:
        completions = await asyncio.gather(
            *(model.serving_chat.create_chat_completion(question()) for _ in range(20))
        )
    assert {each.choices[0].message.content for each in completions} == {"Paris."}


def test_a_container_that_was_only_declared_starts_nothing(
    model_settings: ModelSettings,
) -> None:
    from containers.errors import NotReadyError

    container = ModelContainer(settings=model_settings)
    with pytest.raises(NotReadyError, match="serving_chat is not loaded"):
        container.serving_chat()
