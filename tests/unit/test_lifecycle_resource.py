from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, assert_type
from unittest.mock import MagicMock

import anyio
import pytest
from dependency_injector import containers, providers
from dependency_injector.wiring import Provide, inject

from containers.errors import NotReadyError, StartError, StopError
from containers.lifecycle import Lifecycle, LoadedContainer, Resource, running
from tests.unit.journal import Journal, Made, chain


def function(*, size: int = 1) -> list[int]:
    return [size]


def generator(*, size: int = 1) -> Iterator[list[int]]:
    yield [size]


async def coroutine(*, size: int = 1) -> list[int]:
    return [size]


async def async_generator(*, size: int = 1) -> AsyncIterator[list[int]]:
    yield [size]


class CallableBuilder:
    async def __call__(self, *, size: int = 1) -> list[int]:
        return [size]


BUILDERS = (function, generator, coroutine, async_generator, CallableBuilder())


def only(builder: Any, **uses: Any) -> containers.DynamicContainer:
    container = LoadedContainer()
    container.thing = Resource(builder, **uses)
    return container


def test_the_type_of_the_object_is_inferred_from_every_kind_of_builder() -> None:
    assert_type(Resource(function), Resource[list[int]])
    assert_type(Resource(generator), Resource[list[int]])
    assert_type(Resource(coroutine), Resource[list[int]])
    assert_type(Resource(async_generator), Resource[list[int]])
    with pytest.raises(NotReadyError):
        assert_type(Resource(async_generator)(), list[int])


@pytest.mark.parametrize("builder", BUILDERS)
async def test_a_call_gives_the_plain_object_only_while_running(builder: Any) -> None:
    container = only(builder, size=3)
    with pytest.raises(NotReadyError, match="not started"):
        container.thing()
    await container.init_resources()
    assert container.thing() == [3]
    assert container.thing() is container.thing() is container.thing.init()
    assert container.thing.provided[0]() == 3
    assert await asyncio.to_thread(container.thing) is container.thing()
    await container.shutdown_resources()
    with pytest.raises(NotReadyError, match="stopped"):
        container.thing()


def test_asking_before_the_start_starts_nothing_and_says_what_to_do() -> None:
    journal = Journal()
    container = chain(journal, tokenizer=None, engine=None)
    for ask in (container.engine, container.engine.init, container.engine.provided.x):
        with pytest.raises(NotReadyError) as caught:
            ask()
        assert caught.value.provider == "engine"
        assert "running(container)" in str(caught.value)
    container.engine.shutdown()
    assert not container.engine.initialized
    assert journal.events == []


async def test_asking_while_it_loads_says_to_wait() -> None:
    container = chain(Journal(), engine=Journal().hanging("engine"))
    start = asyncio.ensure_future(container.init_resources())
    await asyncio.sleep(0.01)
    with pytest.raises(NotReadyError, match=r"\(starting\)\. Wait until"):
        container.engine()
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start


async def test_only_the_container_may_close_a_loaded_object() -> None:
    journal = Journal()
    container = chain(journal, engine=None)
    async with running(container):
        with pytest.raises(RuntimeError, match="engine is closed by its container"):
            container.engine.shutdown()
        assert journal.closed == []


async def test_a_plain_container_starts_nothing_by_the_librarys_own_calls() -> None:
    journal = Journal()
    container = containers.DynamicContainer()
    container.engine = Resource(journal.generator("engine"))
    with pytest.raises(NotReadyError):
        container.init_resources()
    async with running(container):
        with pytest.raises(RuntimeError, match="closed by its container"):
            container.shutdown_resources()
    assert journal.events == ["+engine", "-engine"]


async def test_instances_of_a_container_class_have_objects_of_their_own() -> None:
    class Declared(containers.DeclarativeContainer):
        size = providers.Object(2)
        thing = Resource(function, size=size)

    first, second = Declared(), Declared()
    assert first.thing is not second.thing
    assert first.thing.provides is function
    assert first.thing.kwargs == {"size": first.size}
    async with running(first):
        with pytest.raises(NotReadyError):
            second.thing()
        async with running(Declared(size=5)) as third:
            assert (first.thing(), third.thing) == ([2], [5])


async def test_a_class_level_override_reaches_every_instance() -> None:
    class Declared(containers.DeclarativeContainer):
        thing = Resource(function)

    with Declared.thing.override([9]):
        container = Declared()
    async with running(container) as loaded:
        assert loaded.thing == container.thing() == [9]


async def test_the_classic_injection_marker_gives_the_plain_object() -> None:
    class Declared(containers.DeclarativeContainer):
        instance_type = LoadedContainer
        thing = Resource(async_generator, size=7)

    @inject
    def handler(thing: list[int] = Provide[Declared.thing]) -> list[int]:
        return thing

    container = Declared()
    module = type("Module", (), {"__name__": "module", "handler": handler})
    container.wire(modules=[module])
    try:
        with pytest.raises(NotReadyError):
            module.handler()
        async with running(container):
            assert module.handler() == [7]
    finally:
        container.unwire()


def test_a_builder_must_be_callable() -> None:
    with pytest.raises(TypeError, match="takes a builder to call, not 3"):
        Resource(3)  # type: ignore[call-overload]  # what the test is about


def nothing() -> Iterator[int]:
    yield from ()


async def async_nothing() -> AsyncIterator[int]:
    for number in ():
        yield number


@pytest.mark.parametrize("builder", [nothing, async_nothing])
async def test_a_builder_that_yields_nothing_is_a_clear_error(builder: Any) -> None:
    with pytest.raises(StartError, match=r"yields exactly one object.*yielded none"):
        await only(builder).init_resources()


def twice() -> Iterator[int]:
    yield 1
    yield 2


async def async_twice() -> AsyncIterator[int]:
    yield 1
    yield 2


@pytest.mark.parametrize("builder", [twice, async_twice])
async def test_a_builder_that_yields_twice_is_a_clear_error(builder: Any) -> None:
    container = only(builder)
    await container.init_resources()
    assert container.thing() == 1
    with pytest.raises(StopError) as caught:
        await container.shutdown_resources()
    assert "yielded more than one" in str(caught.value.exceptions[0])


def apply(builder: Any) -> Any:
    return builder()


@pytest.mark.parametrize("wrapped", [generator, coroutine, async_generator])
async def test_a_function_around_the_real_builder_is_a_clear_error(
    wrapped: Any,
) -> None:
    with pytest.raises(StartError, match="pass the async or generator function itself"):
        await only(partial(apply, wrapped)).init_resources()


@pytest.mark.parametrize("error", [StopIteration("end"), SystemExit(2)])
@pytest.mark.parametrize("kind", ["function", "coroutine"])
async def test_no_exception_of_a_builder_escapes(error: Any, kind: str) -> None:
    def build() -> None:
        raise error

    async def async_build() -> None:
        raise error

    container = only(build if kind == "function" else async_build)
    with pytest.raises(StartError, match=type(error).__name__):
        await container.init_resources()


async def test_a_returned_context_manager_is_not_entered() -> None:
    manager = MagicMock()
    async with running(only(lambda: manager)) as loaded:
        assert loaded.thing is manager
    assert not manager.__enter__.called
    assert not manager.__aenter__.called


async def test_blocking_builders_run_in_one_thread_of_their_own() -> None:
    seen = []
    variable = ContextVar("variable", default="outside")

    def build() -> Iterator[int]:
        token = variable.set("inside")
        seen.append(threading.current_thread())
        yield 1
        seen.append(threading.current_thread())
        assert variable.get() == "inside"
        variable.reset(token)

    async with running(only(build)):
        assert variable.get() == "outside"
    assert seen[0] is seen[1] is not threading.current_thread()
    assert seen[0].name == "thing"
    seen[0].join(1)
    assert not seen[0].is_alive()


async def test_task_groups_and_context_may_be_held_open_across_the_yield() -> None:
    variable = ContextVar("variable", default="outside")
    beats = []

    async def build() -> AsyncIterator[asyncio.Task[Any] | None]:
        token = variable.set("inside")
        async with anyio.create_task_group() as group, asyncio.TaskGroup():
            group.start_soon(beat)
            yield asyncio.current_task()
            assert variable.get() == "inside"
            group.cancel_scope.cancel()
        variable.reset(token)

    async def beat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0.001)

    async with running(only(build)):
        await asyncio.sleep(0.01)
        assert variable.get() == "outside"
    n_beats = len(beats)
    await asyncio.sleep(0.005)
    assert n_beats == len(beats) > 1


async def test_arguments_are_called_providers_and_plain_values() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.base = Resource(journal.async_generator("base"))
    container.made = providers.Factory(dict, base=container.base)
    container.top = Resource(
        journal.coroutine("top"),
        base=container.base,
        all=providers.List(container.base, providers.Dict(deep=container.base)),
        part=container.made.provided["base"].name,
        delegate=container.base.provider,
        awaited=providers.Coroutine(coroutine, size=4),
        plain={"a": 1},
    )
    async with running(container) as loaded:
        base = loaded.base
        assert isinstance(base, Made)
        assert loaded.top.parts == {
            "base": base,
            "all": [base, {"deep": base}],
            "part": "base",
            "delegate": container.base,
            "awaited": [4],
            "plain": {"a": 1},
        }


async def test_the_name_falls_back_to_the_builders() -> None:
    container = containers.DynamicContainer()
    container.other = Resource(function)
    with pytest.raises(NotReadyError) as caught:
        container.other()
    assert caught.value.provider == "function"
    await Lifecycle(container).start()
    assert container.other() == [1]
