"""The tokenizer and template that a serving object was given are the ones it uses."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dependency_injector.containers import Container

from containers import ChatTemplate, Running, running
from containers.errors import InjectionError
from containers.testing import FakeEngine, tiny_model

SERVING_OBJECTS = ("serving_chat", "serving_completion", "serving_tokenization")
NewContainer = Callable[[], Container]


@pytest.fixture
async def model(new_container: NewContainer) -> AsyncIterator[Running]:
    container = new_container()
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as started:
        yield started


async def prompt_ids(model: Running, text: str = "hello") -> list[int]:
    """Send a chat and return the token ids the engine received."""
    await ask(model.serving_chat, text)
    ids = model.engine.requests[-1].prompt_token_ids
    assert ids is not None
    return list(ids)


def ask(serving_chat: Any, text: str) -> Awaitable[Any]:
    from containers.vllm_api import ChatCompletionRequest

    return serving_chat.create_chat_completion(
        ChatCompletionRequest(
            model="tiny", messages=[{"role": "user", "content": text}], max_tokens=8
        )
    )


def arguments_of(model: Running, name: str) -> dict[str, Any]:
    """Constructor arguments of a serving object, as the container passes them."""
    takes = inspect.signature(type(getattr(model, name)).__init__).parameters
    arguments = {key: getattr(model, key) for key in takes if hasattr(model, key)}
    return arguments | {"settings": model.settings.chat}


def a_future() -> Any:
    return asyncio.get_running_loop().create_future()


async def a_coroutine() -> None: ...


NOT_LOADED: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "a coroutine": a_coroutine,
    "Future": a_future,
    "str": lambda: "a name",
    "object": object,
    "the class": lambda: FakeEngine,
}


@pytest.mark.parametrize("name", SERVING_OBJECTS)
@pytest.mark.parametrize("argument", ["tokenizer", "chat_template"])
@pytest.mark.parametrize("found", NOT_LOADED)
async def test_a_constructor_refuses_what_is_not_loaded(
    model: Running, name: str, argument: str, found: str
) -> None:
    arguments = arguments_of(model, name) | {argument: NOT_LOADED[found]()}
    with pytest.raises(InjectionError, match=f"{argument}=.*got {found}") as caught:
        type(getattr(model, name))(**arguments)
    assert caught.value.argument == argument
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("name", SERVING_OBJECTS)
@pytest.mark.parametrize("argument", ["tokenizer", "chat_template"])
async def test_a_constructor_requires_both(
    model: Running, name: str, argument: str
) -> None:
    arguments = arguments_of(model, name)
    del arguments[argument]
    with pytest.raises(TypeError, match=argument):
        type(getattr(model, name))(**arguments)


@pytest.mark.parametrize("name", SERVING_OBJECTS)
async def test_a_constructor_refuses_a_tokenizer_its_renderer_does_not_use(
    model: Running, name: str
) -> None:
    from copy import copy

    arguments = arguments_of(model, name) | {"tokenizer": copy(model.tokenizer)}
    with pytest.raises(InjectionError, match="built around, got another one"):
        type(getattr(model, name))(**arguments)


@pytest.mark.parametrize("name", SERVING_OBJECTS)
async def test_serving_objects_hold_the_very_tokenizer_of_the_container(
    model: Running, name: str
) -> None:
    assert getattr(model, name).tokenizer is model.tokenizer


async def test_overriding_the_chat_template_changes_the_prompt(
    new_container: NewContainer,
) -> None:
    container = new_container()
    container.engine.override(FakeEngine("Paris."))
    container.chat_template.override(
        ChatTemplate.literal("{% for m in messages %}<{{ m['content'] }}>{% endfor %}")
    )
    async with running(container) as model:
        ids = await prompt_ids(model)
        assert model.tokenizer.decode(ids) == "<hello>"


async def test_overriding_the_tokenizer_changes_the_prompt_and_what_is_detokenized(
    new_container: NewContainer, model: Running, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer

    from containers.vllm_api import DetokenizeRequest, TokenizeCompletionRequest

    other = AutoTokenizer.from_pretrained(tiny_model(tmp_path, vocab_size=300))
    container = new_container()
    container.engine.override(FakeEngine("Paris."))
    container.tokenizer.override(other)
    async with running(container) as changed:
        stock_ids, ids = await prompt_ids(model), await prompt_ids(changed)
        assert ids != stock_ids
        assert "hello" in other.decode(ids)
        request = SimpleNamespace(headers={}, state=SimpleNamespace())
        tokens = await changed.serving_tokenization.create_tokenize(
            TokenizeCompletionRequest(model="tiny", prompt="hello"), request
        )
        assert tokens.tokens == other.encode("hello")
        text = await changed.serving_tokenization.create_detokenize(
            DetokenizeRequest(model="tiny", tokens=other.encode("hello")), request
        )
        assert text.prompt == other.decode(other.encode("hello"))


async def test_the_template_of_the_constructor_wins_over_the_renderers(
    model: Running,
) -> None:
    arguments = arguments_of(model, "serving_chat") | {
        "chat_template": ChatTemplate.literal("{{ messages[0]['content'] }}!")
    }
    await ask(type(model.serving_chat)(**arguments), "hello")
    (request,) = model.engine.requests
    assert model.tokenizer.decode(request.prompt_token_ids) == "hello!"
    assert model.online_renderer.chat_template is None


async def test_the_tokenizer_is_loaded_from_disk_once(
    new_container: NewContainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import PreTrainedTokenizerBase

    from tests.conftest import tiny_settings

    loads = []
    load = PreTrainedTokenizerBase.from_pretrained.__func__

    def counting(cls: type, *args: Any, **options: Any) -> Any:
        loads.append(args)
        return load(cls, *args, **options)

    monkeypatch.setattr(
        PreTrainedTokenizerBase, "from_pretrained", classmethod(counting)
    )
    container = new_container()
    container.settings.override(tiny_settings(tiny_model(tmp_path)))
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as model:
        await prompt_ids(model)
    assert len(loads) == 1
