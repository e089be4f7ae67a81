"""Overriding the providers of a model's container, in every way the library has.

The last part is public failure 13: what was built from an earlier engine is not found
after the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from dependency_injector import containers, providers
from dependency_injector.containers import Container

from containers import ChatTemplate, ModelContainer, ModelSettings, running
from containers.errors import GraphError, NotReadyError
from containers.lifecycle import Resource, lifecycle_of
from containers.testing import FakeEngine, fake_container, override
from containers.testing.overrides import claim_doubles, overrides_of

NewContainer = Callable[[], Container]
ROOT = "serving_chat"


def question() -> Any:
    from containers.vllm_api import ChatCompletionRequest

    return ChatCompletionRequest(messages=[{"role": "user", "content": "Where?"}])


async def said(model: Any) -> str:
    answer = await model.serving_chat.create_chat_completion(question())
    return str(answer.choices[0].message.content)


def overridden(container: Container) -> list[str]:
    """What is overridden beside the settings, which making it overrides."""
    return [name for name in overrides_of(container) if name != "settings"]


async def async_engine() -> AsyncIterator[FakeEngine]:
    engine = FakeEngine("Paris.")
    yield engine
    engine.shutdown()


def engine_in_a_thread() -> Iterator[FakeEngine]:
    engine = FakeEngine("Paris.")
    yield engine
    engine.shutdown()


KINDS: dict[str, Callable[[], Any]] = {
    "Object": lambda: providers.Object(FakeEngine("Paris.")),
    "Singleton": lambda: providers.Singleton(FakeEngine, "Paris."),
    "Factory": lambda: providers.Factory(FakeEngine, "Paris."),
    "Callable": lambda: providers.Callable(FakeEngine, "Paris."),
    "async Resource": lambda: Resource(async_engine),
    "Resource in a thread": lambda: Resource(engine_in_a_thread),
    "async Resource of the library": lambda: providers.Resource(async_engine),
    "Resource of the library": lambda: providers.Resource(engine_in_a_thread),
    "the object itself": lambda: FakeEngine("Paris."),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_override_stands_where_the_engine_would(
    new_container: NewContainer, kind: str
) -> None:
    container = new_container()
    container.engine.override(KINDS[kind]())
    async with running(container, ROOT) as model:
        assert await said(model) == "Paris."
        engine = model.engine
    with pytest.raises(NotReadyError):
        container.engine()
    assert engine.shutdown_count == ("Resource" in kind)


async def test_what_only_the_engine_needed_is_not_started(
    new_container: NewContainer,
) -> None:
    container = new_container()
    started = []

    def weights() -> str:
        started.append("weights")
        return "weights"

    container.weights = Resource(weights)
    container.engine.add_kwargs(weights=container.weights)
    with container.engine.override(FakeEngine("Paris.")):
        async with running(container) as model:
            assert await said(model) == "Paris."
    assert started == []
    assert "weights" not in container.lifecycle.records


async def test_of_nested_overrides_only_the_innermost_starts(
    new_container: NewContainer,
) -> None:
    container, started = new_container(), []

    def made(name: str) -> FakeEngine:
        started.append(name)
        return FakeEngine(name)

    with (
        container.engine.override(Resource(made, name="outer")),
        container.engine.override(Resource(made, name="inner")),
    ):
        async with running(container, ROOT) as model:
            assert await said(model) == "inner"
    assert started == ["inner"]


async def test_reset_override_brings_the_original_back(
    new_container: NewContainer,
) -> None:
    container = new_container()
    container.engine.set_provides(lambda: FakeEngine("original"))
    container.engine.clear_kwargs()
    for _ in range(2):
        with container.engine.override(FakeEngine("double")):
            async with running(container, ROOT) as model:
                assert await said(model) == "double"
        async with running(container, ROOT) as model:
            assert await said(model) == "original"


async def test_overrides_may_be_taken_away_inside_their_block(
    new_container: NewContainer,
) -> None:
    container = new_container()
    for take_away in ("reset_last_overriding", "reset_override"):
        with override(container, engine=FakeEngine("outer")):
            outer = overrides_of(container)
            with override(container, engine=FakeEngine("inner")):
                getattr(container.engine, take_away)()
            if take_away == "reset_last_overriding":
                assert overrides_of(container) == outer
        assert overridden(container) == []


async def test_an_override_left_in_a_block_goes_with_it(
    new_container: NewContainer,
) -> None:
    container = new_container()
    with override(container, engine=FakeEngine("ours")):
        container.engine.override(FakeEngine("left"))
    assert overridden(container) == []


@pytest.mark.parametrize("mock", [MagicMock, AsyncMock])
async def test_a_mock_is_not_entered_and_stays_what_it_is(
    new_container: NewContainer, mock: type[MagicMock]
) -> None:
    double = mock()
    container = new_container()
    with override(container, serving_chat=double):
        async with running(container, ROOT) as model:
            assert model.serving_chat is double
            assert container.serving_chat() is double
    assert not double.__enter__.called
    assert not double.__aenter__.called


def overridden_providers(settings: ModelSettings, engine: Any) -> Container:
    container = ModelContainer(settings=settings)
    container.override_providers(engine=engine)
    return container


def with_container(settings: ModelSettings, engine_: Any) -> Container:
    class Doubles(containers.DeclarativeContainer):
        engine = engine_

    container = ModelContainer(settings=settings)
    container.override(Doubles())
    return container


def copied_class(engine_: Any) -> Any:
    @containers.copy(ModelContainer)
    class Doubled(ModelContainer):
        engine = engine_

    return Doubled


def as_sub_container(settings: ModelSettings, engine: Any) -> Container:
    class Application(containers.DeclarativeContainer):
        model = providers.Container(ModelContainer, settings=settings)

    container = Application()
    container.model.engine.override(engine)
    return container


def overridden_sub_container(settings: ModelSettings, engine_: Any) -> Container:
    class Doubles(containers.DeclarativeContainer):
        engine = engine_

    class Application(containers.DeclarativeContainer):
        model = providers.Container(ModelContainer, settings=settings)

    container = Application()
    container.model.override(Doubles())
    return container


def as_argument(settings: ModelSettings, engine: Any) -> Container:
    class Application(containers.DeclarativeContainer):
        model = providers.Container(ModelContainer)

    return Application(model=ModelContainer(settings=settings, engine=engine))


def as_dependency(settings: ModelSettings, engine_: Any) -> Container:
    class Application(containers.DeclarativeContainer):
        engine = providers.Dependency()
        model = providers.Container(ModelContainer, settings=settings, engine=engine)

    return Application(engine=engine_)


@pytest.mark.parametrize(
    "put_in_place",
    [
        lambda settings, engine: ModelContainer(settings=settings, engine=engine),
        overridden_providers,
        with_container,
        lambda settings, engine: copied_class(engine)(settings=settings),
        as_sub_container,
        overridden_sub_container,
        as_argument,
        as_dependency,
    ],
    ids=[
        "constructor",
        "override_providers",
        "container",
        "copy",
        "sub-container",
        "override of a sub-container",
        "argument",
        "dependency",
    ],
)
async def test_every_way_to_override_works(
    model_settings: ModelSettings, put_in_place: Callable[..., Any]
) -> None:
    container = put_in_place(
        model_settings, providers.Singleton(FakeEngine, "elsewhere")
    )
    async with running(container) as model:
        objects = vars(model)
        name = next(each for each in objects if each.endswith("serving_chat"))
        assert await said(SimpleNamespace(serving_chat=objects[name])) == "elsewhere"


async def test_a_class_level_override_reaches_instances_made_meanwhile(
    model_settings: ModelSettings,
) -> None:
    double = providers.Singleton(FakeEngine, "for all")
    with ModelContainer.engine.override(double):
        container = ModelContainer(settings=model_settings)
    assert overrides_of(ModelContainer) == {}
    async with running(container, ROOT) as model:
        assert await said(model) == "for all"


async def test_instances_are_independent(new_container: NewContainer) -> None:
    answers = []
    for text in ("one", "two"):
        container = new_container()
        with override(container, engine=FakeEngine(text)):
            async with running(container, ROOT) as model:
                answers.append(await said(model))
    assert answers == ["one", "two"]


async def test_several_objects_may_be_doubles_at_once(
    new_container: NewContainer,
) -> None:
    container, engine = new_container(), FakeEngine("Paris.")
    template = ChatTemplate.literal("<{{ messages[0]['content'] }}>")
    with override(container, engine=engine, chat_template=template):
        async with running(container, ROOT) as model:
            assert await said(model) == "Paris."
    assert engine.requests[0].prompt == "<Where?>"
    assert overridden(container) == []


# Errors that teach.


def test_a_misspelt_name_is_told_from_the_nearest(new_container: NewContainer) -> None:
    with (
        pytest.raises(GraphError, match=r"no such provider: engin\. .*mean engine"),
        override(new_container(), engin=FakeEngine()),
    ):
        pass


class Misspelt(containers.DeclarativeContainer):
    """A container of doubles with a name that nobody knows."""

    engin = providers.Object(1)


@pytest.mark.parametrize(
    "put_in_place",
    [
        lambda container: container.override_providers(engin=FakeEngine()),
        lambda container: container.override(Misspelt()),
        lambda container: ModelContainer(engin=FakeEngine()),
        lambda container: fake_container(engin=FakeEngine()),
    ],
)
def test_no_way_to_override_takes_a_misspelt_name(
    new_container: NewContainer, put_in_place: Any
) -> None:
    with pytest.raises((GraphError, AttributeError), match="engin"):
        put_in_place(new_container())


@pytest.mark.parametrize(
    ("name", "double", "expected"),
    [
        ("engine", "Paris.", "it must be an engine client, not a str"),
        ("engine", FakeEngine, "not the class FakeEngine"),
        ("tokenizer", None, "it must be a loaded tokenizer, not None"),
        ("chat_template", "{{ x }}", "it must be a loaded ChatTemplate, not a str"),
        ("serving_chat", SimpleNamespace(), "which has no create_chat_completion"),
    ],
)
def test_a_double_of_the_wrong_type_is_refused_at_once(
    new_container: NewContainer, name: str, double: Any, expected: str
) -> None:
    container = new_container()
    with (
        pytest.raises(GraphError, match=expected) as caught,
        override(container, **{name: double}),
    ):
        pass
    assert caught.value.providers == (name,)
    assert overridden(container) == []


@pytest.mark.parametrize("name", ["engin", "nope"])
def test_a_fake_container_knows_its_names(name: str) -> None:
    with pytest.raises(GraphError, match="no such provider"):
        fake_container(**{name: object()})


def test_a_fake_container_refuses_the_wrong_type() -> None:
    with pytest.raises(GraphError, match="it must be a ServingChat, not a str"):
        fake_container(serving_chat="Paris.")


async def test_overriding_after_the_start_is_refused(
    new_container: NewContainer,
) -> None:
    container = new_container()
    with override(container, engine=FakeEngine()):
        async with running(container, ROOT):
            with (
                pytest.raises(GraphError, match="after the start") as caught,
                override(container, engine=FakeEngine()),
            ):
                pass
    assert caught.value.providers == ("engine",)
    assert "start" in caught.value.hint


def test_one_fake_for_two_containers_is_refused(new_container: NewContainer) -> None:
    engine, first, second = FakeEngine(), new_container(), new_container()
    with override(first, engine=engine):
        with (
            pytest.raises(GraphError, match="another container has this very Fake"),
            override(second, engine=engine),
        ):
            pass
        second.engine.override(engine)
        with pytest.raises(GraphError, match="Make one for each"):
            claim_doubles(second)
    claim_doubles(second)


def test_one_fake_may_serve_one_container_after_another(
    new_container: NewContainer,
) -> None:
    engine = FakeEngine()
    for container in (new_container(), new_container()):
        with override(container, engine=engine):
            pass


# Public failure 13.


async def test_after_a_restart_everything_refers_to_the_new_engine(
    new_container: NewContainer,
) -> None:
    container = new_container()
    container.engine.override(providers.Factory(FakeEngine, "Paris."))
    container.chat_service = providers.Singleton(
        SimpleNamespace, serving_chat=container.serving_chat
    )
    seen: list[Any] = []
    for _ in range(2):
        await container.init_resources()
        assert await said(container.chat_service()) == "Paris."
        assert container.engine().requests[-1].state == "finished"
        assert len(container.engine().requests) == 1
        assert container.chat_service().serving_chat is container.serving_chat()
        seen += [container.engine(), container.serving_chat(), container.models()]
        seen.append(container.chat_service())
        await container.shutdown_resources()
    assert len({id(each) for each in seen}) == 8


def test_a_container_restarted_on_another_loop_is_new_throughout(
    new_container: NewContainer,
) -> None:
    container = new_container()
    container.engine.override(providers.Factory(FakeEngine, "Paris."))

    async def once() -> Any:
        async with running(container) as model:
            await said(model)
            return model.engine

    engines = [asyncio.run(once()) for _ in range(2)]
    assert [len(engine.requests) for engine in engines] == [1, 1]
    assert lifecycle_of(container).objects == {}
