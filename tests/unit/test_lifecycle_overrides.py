from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from dependency_injector import containers, providers, resources
from dependency_injector.ext.starlette import Lifespan

from containers.errors import NotReadyError, StartError
from containers.lifecycle import Lifecycle, LoadedContainer, Resource, State, running
from containers.lifecycle.loading import loading
from tests.unit.journal import Journal, Made


class Fake:
    """Stands in for an engine."""


class LibraryResource(resources.Resource[Fake]):
    def init(self) -> Fake:
        return Fake()


class AsyncLibraryResource(resources.AsyncResource[Fake]):
    async def init(self) -> Fake:
        await asyncio.sleep(0)
        return Fake()


async def fake_async() -> AsyncIterator[Fake]:
    await asyncio.sleep(0)
    yield Fake()


async def fake_coroutine() -> Fake:
    return Fake()


def fake() -> Iterator[Fake]:
    yield Fake()


OVERRIDES: dict[str, Callable[[], Any]] = {
    "value": Fake,
    "object": lambda: providers.Object(Fake()),
    "factory": lambda: providers.Factory(Fake),
    "singleton": lambda: providers.Singleton(Fake),
    "callable": lambda: providers.Callable(Fake),
    "coroutine": lambda: providers.Coroutine(fake_coroutine),
    "dependency": lambda: providers.Dependency(default=Fake()),
    "ours": lambda: Resource(Fake),
    "ours async": lambda: Resource(fake_async),
    "library sync": lambda: providers.Resource(fake),
    "library async": lambda: providers.Resource(fake_async),
    "library coroutine": lambda: providers.Resource(fake_coroutine),
    "library class": lambda: providers.Resource(LibraryResource),
    "library async class": lambda: providers.Resource(AsyncLibraryResource),
}


class Model:
    """A container whose engine needs weights that nothing else needs."""

    def __init__(self) -> None:
        self.journal = Journal()
        make = self.journal
        container = LoadedContainer()
        container.disk = Resource(make.async_generator("disk"))
        container.weights = Resource(make.generator("weights"), disk=container.disk)
        container.loader = providers.Factory(dict, weights=container.weights)
        container.config = Resource(make.coroutine("config"))
        container.engine = Resource(
            make.async_generator("engine"),
            loader=container.loader,
            config=container.config,
            draft=Resource(make.generator("draft")),
        )
        container.held = providers.Singleton(list, providers.List(container.engine))
        container.chat = Resource(
            make.async_generator("chat"), engine=container.engine, held=container.held
        )
        self.container = container


async def use(container: Any) -> Fake:
    """The same caller code, whatever overrides the engine."""
    await container.init_resources()
    try:
        engine: Fake = container.engine()
        assert isinstance(engine, Fake)
        assert container.engine() is engine
        assert await asyncio.to_thread(container.engine) is engine
        assert container.chat().parts == {"engine": engine, "held": [engine]}
        return engine
    finally:
        await container.shutdown_resources()


@pytest.mark.parametrize("kind", OVERRIDES)
async def test_every_kind_of_override_works_with_the_same_caller_code(
    kind: str,
) -> None:
    model = Model()
    with model.container.engine.override(OVERRIDES[kind]()):
        await use(model.container)
        await use(model.container)
    assert model.journal.events == ["+chat", "-chat"] * 2
    model.journal.events.clear()
    async with running(model.container):
        assert isinstance(model.container.engine(), Made)
    assert sorted(model.journal.closed) == [
        "chat",
        "disk",
        "draft",
        "engine",
        "weights",
    ]
    assert model.journal.closed[0] == "chat"


async def test_an_override_starts_neither_the_original_nor_what_only_it_needed() -> (
    None
):
    model = Model()
    model.container.engine.override(Fake())
    await model.container.init_resources()
    assert model.journal.events == ["+chat"]
    assert list(model.container.lifecycle.records) == ["engine", "chat"]
    await model.container.shutdown_resources()


async def test_what_others_also_use_is_started_under_an_override() -> None:
    model = Model()
    model.container.extra = providers.Factory(list, model.container.weights)
    model.container.engine.override(Fake())
    async with running(model.container):
        assert "weights" in model.journal.opened


async def test_only_the_last_of_nested_overrides_counts() -> None:
    model = Model()
    first = Resource(model.journal.generator("first"))
    last = Fake()
    with model.container.engine.override(first), first.override(last):
        async with running(model.container) as loaded:
            assert loaded.engine is last is model.container.engine() is first()
    assert model.journal.events == ["+chat", "-chat"]


async def test_one_resource_may_override_two_providers() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.a = Resource(journal.generator("a"))
    container.b = Resource(journal.generator("b"))
    both = Resource(journal.generator("both"))
    with container.a.override(both), container.b.override(both):
        async with running(container) as loaded:
            assert loaded.a is loaded.b is container.b()
    assert journal.events == ["+both", "-both"]


async def test_an_override_may_be_another_provider_of_the_container() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.small = Resource(journal.generator("small"))
    container.big = Resource(journal.generator("big"))
    container.user = Resource(journal.generator("user"), engine=container.big)
    with container.big.override(container.small):
        async with running(container, "user") as loaded:
            assert loaded.user.parts["engine"] is loaded.small is container.big()
    assert journal.events == ["+small", "+user", "-user", "-small"]


async def test_a_live_resource_of_another_container_is_borrowed_not_closed() -> None:
    first, second = Model(), Model()
    async with running(first.container) as owner:
        second.container.engine.override(first.container.engine)
        async with running(second.container) as borrower:
            assert borrower.engine is owner.engine
        assert first.journal.closed == []
        assert first.container.engine() is owner.engine
    assert first.journal.closed.count("engine") == 1


async def test_a_resource_that_another_container_is_loading_is_not_built_twice() -> (
    None
):
    journal = Journal()
    first, second = LoadedContainer(), LoadedContainer()
    first.engine = Resource(journal.hanging("engine"))
    second.engine = Resource(journal.coroutine("other"))
    second.engine.override(first.engine)
    start = asyncio.ensure_future(first.init_resources())
    await asyncio.sleep(0.01)
    with pytest.raises(StartError, match="engine is starting in another container"):
        await second.init_resources()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert journal.events == ["?engine", "!engine"]


async def test_an_override_made_while_running_counts_for_calls_from_then_on() -> None:
    model = Model()
    container = model.container
    async with running(container) as loaded:
        with container.engine.override("late"):
            assert container.engine() == "late"
            assert container.chat().parts["engine"] is loaded.engine
        assert container.engine() is loaded.engine


@pytest.mark.parametrize("kind", ["ours", "library sync", "library async"])
async def test_a_resource_that_overrides_while_running_is_not_started_lazily(
    kind: str,
) -> None:
    model = Model()
    async with running(model.container):
        late = OVERRIDES[kind]()
        with model.container.engine.override(late):
            with pytest.raises(NotReadyError):
                model.container.engine()
            assert not late.initialized


async def test_an_override_removed_while_running_stays_until_the_stop() -> None:
    model = Model()
    with model.container.engine.override(OVERRIDES["ours"]()):
        await model.container.init_resources()
        engine = model.container.engine()
    assert isinstance(engine, Fake)
    assert model.container.engine() is engine
    await model.container.shutdown_resources()
    assert model.journal.closed == ["chat"]


async def test_a_container_made_with_a_value_never_builds_the_original() -> None:
    journal = Journal()

    class Declared(containers.DeclarativeContainer):
        weights = Resource(journal.generator("weights"))
        engine = Resource(journal.generator("engine"), weights=weights)

    given = Made("given", {})
    async with running(Declared(engine=given)) as loaded:
        assert loaded.engine is given
    assert journal.events == []


def library_container(journal: Journal) -> containers.DynamicContainer:
    container = containers.DynamicContainer()
    container.disk = providers.Resource(journal.generator("disk"))
    container.engine = providers.Resource(
        journal.async_generator("engine"), disk=container.disk
    )
    container.client = providers.Singleton(dict, engine=container.engine)
    container.chat = Resource(journal.generator("chat"), client=container.client)
    return container


async def test_the_librarys_own_resources_live_by_the_same_rules() -> None:
    journal = Journal()
    container = library_container(journal)
    for _ in range(2):
        async with running(container) as loaded:
            assert isinstance(container.engine(), Made)
            assert container.client() == {"engine": loaded.engine}
            assert await asyncio.to_thread(container.engine) is loaded.engine
        assert not container.engine.initialized
    assert (
        journal.events == ["+disk", "+engine", "+chat", "-chat", "-engine", "-disk"] * 2
    )


@pytest.mark.parametrize(
    "factory",
    [
        pytest.param(None, id="plain tasks"),
        pytest.param(
            getattr(asyncio, "eager_task_factory", None),
            id="eager tasks",
            marks=pytest.mark.skipif(
                sys.version_info < (3, 12), reason="eager tasks came with Python 3.12"
            ),
        ),
    ],
)
async def test_a_failed_library_resource_can_be_tried_again(factory: Any) -> None:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    errors: list[Exception] = [ValueError("first")]

    async def engine() -> AsyncIterator[str]:
        if errors:
            raise errors.pop()
        yield "engine"

    container = containers.DynamicContainer()
    container.engine = providers.Resource(engine)
    container.own = Resource(engine)
    lifecycle = Lifecycle(container)
    with pytest.raises(StartError):
        await lifecycle.start("engine")
    await lifecycle.start()
    assert container.engine() == container.own() == "engine"
    assert loop.get_task_factory() is factory
    await lifecycle.stop()
    loop.set_task_factory(None)


async def test_a_library_resource_cancelled_at_once_can_be_tried_again() -> None:
    journal = Journal()
    resource = providers.Resource(journal.async_generator("engine"))
    entering = asyncio.ensure_future(loading(resource, "engine").__aenter__())
    await asyncio.sleep(0)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert not resource.initialized
    async with loading(resource, "engine") as made:
        assert resource() is made
    assert journal.events == ["+engine", "-engine"]


async def test_the_librarys_lifespan_goes_through_our_lifecycle() -> None:
    model = Model()
    model.container.chat.set_provides(model.journal.failing(ValueError("no")))
    lifespan = Lifespan(model.container)
    with pytest.raises(StartError):
        await lifespan.__aenter__()
    assert sorted(model.journal.closed) == ["disk", "draft", "engine", "weights"]
    model.container.chat.set_provides(model.journal.generator("chat"))
    async with lifespan:
        assert model.container.lifecycle.state is State.READY
    assert model.container.lifecycle.state is State.STOPPED


async def test_resources_can_be_started_by_type() -> None:
    class Special(Resource[Any]):
        """Another type."""

    journal = Journal()
    container = LoadedContainer()
    container.plain = Resource(journal.generator("plain"))
    await container.init_resources(Special)
    assert container.lifecycle.state is State.NOT_STARTED
    container.special = Special(journal.generator("special"))
    await container.init_resources(Special)
    assert journal.opened == ["special"]
    await container.shutdown_resources()
