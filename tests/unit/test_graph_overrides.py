"""An override of the wrong type is refused before anything starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from dependency_injector import containers, providers

from containers import ChatTemplate, ModelContainer, ModelSettings
from containers.errors import GraphError
from containers.graph import Expected, Graph
from containers.lifecycle import Resource, running
from containers.vllm_api.tokenizer import TOKENIZER_METHODS

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]  # that is the point

SETTINGS = ModelSettings(name="m", source="org/model")


class Engine:
    """A class of a user's own."""


class Double:
    """Stands for an Engine without being one."""


def give() -> Engine:
    return Engine()


def give_text() -> str:
    return "text"


def give_number() -> float:
    return 0.5


def give_maybe() -> Engine | None:
    return None


def give_list() -> list[str]:
    return []


def give_unknown() -> Unknown:
    return None


def give_nothing_known():  # type: ignore[no-untyped-def]  # noqa: ANN201  # as users may
    return None


def generate() -> Iterator[Engine]:
    yield Engine()


async def await_it() -> Engine:
    return Engine()


async def generate_async() -> AsyncIterator[Engine]:
    yield Engine()


def give_loaded() -> Annotated[Any, Expected("a loaded thing", has=("run",))]:
    return None


def refused(container: Any) -> GraphError:
    with pytest.raises(GraphError) as caught:
        Graph.of(container).check()
    return caught.value


def overridden(builder: Callable[..., Any], value: Any) -> Any:
    class Container(containers.DeclarativeContainer):
        thing = Resource(builder)

    container = Container()
    container.thing.override(providers.Object(value))
    return container


def model_with(**values: Any) -> Any:
    container = ModelContainer(settings=SETTINGS)
    for name, value in values.items():
        getattr(container, name).override(value)
    return container


@pytest.mark.parametrize("builder", [give, generate, await_it, generate_async, Engine])
@pytest.mark.parametrize("value", ["text", 3, None, object(), [Engine()], Double])
def test_what_is_built_in_stands_for_no_class(
    builder: Callable[..., Any], value: object
) -> None:
    error = refused(overridden(builder, value))
    assert error.providers == ("thing",)
    assert "it must be an Engine, not " in error.reason


@pytest.mark.parametrize("builder", [give, generate, await_it, generate_async, Engine])
@pytest.mark.parametrize("value", [Engine(), Double(), SimpleNamespace()])
def test_a_double_may_have_a_class_of_its_own(
    builder: Callable[..., Any], value: object
) -> None:
    Graph.of(overridden(builder, value)).check()


@pytest.mark.parametrize(
    ("builder", "value"),
    [
        (give_text, "other text"),
        (give_number, 1),
        (give_maybe, None),
        (give_list, ["a"]),
        (give_unknown, "anything"),
        (give_nothing_known, "anything"),
    ],
)
def test_what_fits_the_annotation_or_cannot_be_told_is_taken(
    builder: Callable[..., Any], value: object
) -> None:
    Graph.of(overridden(builder, value)).check()


@pytest.mark.parametrize(
    ("builder", "value", "words"),
    [
        (give_text, 3, "it must be a str, not an int"),
        (give_number, "1", "it must be a float, not a str"),
        (give_list, "a", "it must be a list, not a str"),
        (give_loaded, object(), "it must be a loaded thing, not an object"),
        (give_loaded, Double(), "not a Double, which has no run"),
        (give_loaded, Double, "not the class Double"),
    ],
)
def test_the_error_says_what_was_wanted_and_what_came(
    builder: Callable[..., Any], value: object, words: str
) -> None:
    assert words in refused(overridden(builder, value)).reason


async def test_what_nobody_awaited_is_refused() -> None:
    coroutine = await_it()
    future = asyncio.get_running_loop().create_future()
    assert "not a coroutine" in refused(overridden(give, coroutine)).reason
    assert "not a Future" in refused(overridden(give, future)).reason
    coroutine.close()


def test_the_first_declaration_counts_however_often_it_is_overridden() -> None:
    container = overridden(give, Engine())
    container.thing.override(providers.Object("text"))
    assert refused(container).providers == ("thing",)


async def test_nothing_starts_when_an_override_has_the_wrong_type() -> None:
    started = []

    def first() -> int:
        started.append("first")
        return 1

    class Container(containers.DeclarativeContainer):
        first_thing = Resource(first)
        thing = Resource(give)

    container = Container()
    container.thing.override("text")
    with pytest.raises(GraphError):
        async with running(container):
            pass
    assert started == []


WRONG = {
    "model": 3,
    "vllm_config": "config",
    "tokenizer": "x",
    "chat_template": "{{ messages }}",
    "renderer": object(),
    "engine": object(),
    "supported_tasks": 3,
    "models": ["m"],
    "online_renderer": "x",
    "serving_chat": "x",
    "serving_chat_batch": "x",
    "serving_completion": 3,
    "tool_server": 3,
    "serving_responses": "x",
    "serving_messages": "x",
    "online_derenderer": "x",
    "serving_chat_v2": "x",
    "serving_generative_scoring": "x",
    "serving_structured_decisions": "x",
    "serving_render": "x",
    "serving_derender": "x",
    "serving_tokens": "x",
    "serving_transcription": "x",
    "serving_translation": "x",
    "serving_realtime": 3,
    "serving_embedding": "x",
    "serving_pooling": "x",
    "serving_classification": 3,
    "serving_scores": "x",
    "engine_core": object(),
    "engine_processes": 3,
    "serving_tokenization": object(),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_resource_of_a_model_knows_a_wrong_override(name: str) -> None:
    assert refused(model_with(**{name: WRONG[name]})).providers == (name,)


def test_every_resource_of_a_model_is_tried_above() -> None:
    assert set(WRONG) == set(Graph.of(model_with()).resources)


def test_a_bare_template_is_told_how_to_become_one() -> None:
    error = refused(model_with(chat_template="{{ messages }}"))
    assert str(error) == (
        "it must be a loaded ChatTemplate, not a str: chat_template. "
        "Wrap Jinja text: ChatTemplate.literal(text)."
    )


def test_doubles_that_can_do_what_is_needed_are_taken() -> None:
    methods = dict.fromkeys((*TOKENIZER_METHODS, "run"), print)
    Graph.of(
        model_with(
            tokenizer=SimpleNamespace(**methods),
            chat_template=ChatTemplate.literal("{{ messages }}"),
            serving_chat=SimpleNamespace(create_chat_completion=print),
        )
    ).check()
