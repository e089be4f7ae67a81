from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from dependency_injector import containers, providers

from containers.errors import NotReadyError, StopError
from containers.lifecycle import Lifecycle, LoadedContainer, Resource, State, running
from tests.unit.journal import Journal, Made, chain


def through_others(journal: Journal) -> containers.DynamicContainer:
    """Users reach ``engine`` through every kind of provider that lies between."""
    container = LoadedContainer()
    container.engine = Resource(journal.async_generator("engine"))
    container.single = providers.Singleton(list, container.engine.provided.name)
    ways = {
        "direct": container.engine,
        "singleton": container.single,
        "factory": providers.Factory(dict, engine=container.engine),
        "items": providers.Dict(deep=providers.List(container.engine)),
        "part": container.engine.provided.name,
        "callable": providers.Callable(id, container.engine),
        "dependency": providers.Dependency(default=container.engine),
        "selector": providers.Selector(lambda: "yes", yes=container.engine),
    }
    for name, way in ways.items():
        container.set_provider(name, Resource(journal.generator(name), way=way))
    return container


async def test_every_user_closes_before_what_it_uses_however_it_reaches_it() -> None:
    journal = Journal()
    container = through_others(journal)
    await container.init_resources()
    assert journal.opened[0] == "engine"
    await container.shutdown_resources()
    assert journal.closed[-1] == "engine"
    assert sorted(journal.closed) == sorted(journal.opened)


async def test_independent_resources_close_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=5)

    def build() -> Iterator[int]:
        yield 1
        meeting.wait()

    container = LoadedContainer()
    container.a = Resource(build)
    container.b = Resource(build)
    await container.init_resources()
    await container.shutdown_resources()
    assert not meeting.broken


async def test_every_close_is_attempted_and_the_errors_are_collected() -> None:
    journal = Journal()
    container = chain(
        journal,
        a=journal.async_generator("a", close_error=OSError("a")),
        b=None,
        c=journal.generator("c", close_error=KeyError("c")),
        d=journal.async_generator("d", close_error=SystemExit(1)),
    )
    await container.init_resources()
    with pytest.raises(StopError) as caught:
        await container.shutdown_resources()
    assert journal.closed == ["d", "c", "b", "a"]
    assert [type(e) for e in caught.value.exceptions] == [
        RuntimeError,
        KeyError,
        OSError,
    ]
    assert [e.__notes__ for e in caught.value.exceptions] == [
        ["while d was being closed"],
        ["while c was being closed"],
        ["while a was being closed"],
    ]
    assert container.lifecycle.records["a"].state is State.FAILED
    await container.shutdown_resources()
    assert len(journal.closed) == 4
    assert container.lifecycle.state is State.STOPPED


async def test_a_stop_before_any_start_does_nothing() -> None:
    container = chain(Journal(), a=None)
    await container.shutdown_resources()
    assert container.lifecycle.state is State.NOT_STARTED


@pytest.mark.parametrize("kind", ["async", "blocking"])
async def test_a_hanging_close_is_left_and_what_it_uses_is_closed(kind: str) -> None:
    journal = Journal()
    release = threading.Event()

    async def hang_async(**_: Any) -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    def hang_blocking(**_: Any) -> Iterator[int]:
        yield 1
        release.wait(5)

    stuck = hang_async if kind == "async" else hang_blocking
    container = chain(journal, engine=None, stuck=stuck, top=None)
    await container.init_resources()
    began = time.monotonic()
    with pytest.raises(StopError) as caught:
        await container.lifecycle.stop(timeout_s=0.1)
    assert time.monotonic() - began < 1
    (error,) = caught.value.exceptions
    assert isinstance(error, TimeoutError)
    assert error.__notes__ == ["while stuck was being closed"]
    assert journal.closed == ["top", "engine"]
    release.set()


async def test_a_close_that_will_not_be_cancelled_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("containers.lifecycle.holder.LAST_CHANCE_S", 0.02)
    journal = Journal()
    end = asyncio.Event()

    async def stubborn(**_: Any) -> AsyncIterator[int]:
        yield 1
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                journal.events.append("!stubborn")

    container = chain(journal, engine=None, stubborn=stubborn)
    await container.init_resources()
    with pytest.raises(StopError):
        await container.lifecycle.stop(timeout_s=0.02)
    assert journal.events == ["+engine", "!stubborn", "-engine"]
    await container.init_resources()
    end.set()
    await asyncio.sleep(0.01)
    assert container.stubborn() == 1, "the one left behind does not touch the new one"
    await container.shutdown_resources()


async def test_a_cancelled_stop_closes_everything_first() -> None:
    journal = Journal()
    gate = asyncio.Event()
    container = chain(
        journal,
        engine=journal.async_generator("engine", close_error=OSError("gone")),
        top=journal.async_generator("top", close_gate=gate),
    )
    await container.init_resources()
    stop = asyncio.ensure_future(container.lifecycle.stop())
    for _ in range(3):
        await asyncio.sleep(0.002)
        stop.cancel()
    gate.set()
    with pytest.raises(asyncio.CancelledError) as caught:
        await stop
    assert journal.closed == ["top", "engine"]
    assert caught.value.__notes__ == ["while engine was being closed: OSError: gone"]


async def test_two_stops_at_once_close_everything_once() -> None:
    journal = Journal()
    container = chain(journal, engine=None, top=None)
    await container.init_resources()
    await asyncio.gather(container.lifecycle.stop(), container.lifecycle.stop())
    assert journal.closed == ["top", "engine"]


async def test_overrides_made_after_the_start_do_not_confuse_the_stop() -> None:
    journal = Journal()
    container = chain(journal, engine=None, top=None)
    await container.init_resources()
    with container.engine.override("late"), container.top.override("late"):
        assert container.top() == "late"
        await container.shutdown_resources()
    assert journal.closed == ["top", "engine"]


async def test_objects_are_removed_as_soon_as_they_begin_to_close() -> None:
    seen = []
    container = LoadedContainer()

    async def user(*, engine: Any) -> AsyncIterator[int]:
        yield 1
        seen.append(container.engine() is engine)
        with pytest.raises(NotReadyError, match="stopping"):
            container.user()

    container.engine = Resource(Journal().async_generator("engine"))
    container.user = Resource(user, engine=container.engine)
    await container.init_resources()
    await container.shutdown_resources()
    assert seen == [True]
    assert container.lifecycle.objects == {}


async def test_after_another_start_every_object_is_fresh() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.settings = providers.Singleton(dict)
    container.engine = Resource(
        journal.async_generator("engine"), settings=container.settings
    )
    container.client = providers.Singleton(
        Made, "client", providers.Dict(e=container.engine)
    )
    container.maker = providers.Factory(
        Made,
        "made",
        providers.Dict(
            inner=providers.Singleton(list, container.engine.provided.parts)
        ),
    )
    container.serving = Resource(
        journal.generator("serving"), client=container.client, made=container.maker
    )
    container.lazy = providers.Singleton(
        Made, "lazy", providers.Dict(e=container.engine)
    )
    settings = container.settings()
    seen = []
    for _ in range(2):
        async with running(container) as loaded:
            assert container.client().parts["e"] is loaded.engine
            assert container.lazy().parts["e"] is loaded.engine
            assert loaded.serving.parts["client"] is container.client()
            inner = container.maker().parts["inner"]
            seen.append((loaded.engine, loaded.serving, container.lazy(), inner))
    assert all(first is not second for first, second in zip(*seen, strict=True))
    assert container.settings() is settings, "what uses no resource is kept"


async def test_a_resource_that_ends_by_itself_is_seen_and_reported() -> None:
    journal = Journal()
    crash = asyncio.Event()

    async def engine() -> AsyncIterator[int]:
        async with asyncio.TaskGroup() as group:
            group.create_task(crash_later())
            yield 1

    async def crash_later() -> None:
        await crash.wait()
        raise OSError("engine died")

    container = LoadedContainer()
    container.engine = Resource(engine)
    container.user = Resource(journal.async_generator("user"), engine=container.engine)
    await container.init_resources()
    crash.set()
    await asyncio.sleep(0.01)
    assert container.lifecycle.state is State.FAILED
    assert container.lifecycle.records["engine"].state is State.FAILED
    with pytest.raises(NotReadyError):
        container.engine()
    with pytest.raises(StopError) as caught:
        await container.lifecycle.stop()
    assert caught.group_contains(OSError, match="engine died")
    assert journal.closed == ["user"]


async def test_a_start_after_a_crash_first_closes_the_rest() -> None:
    journal = Journal()
    crash = asyncio.Event()

    async def engine() -> AsyncIterator[int]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(crash.wait())
            yield 1
            task.cancel()

    container = LoadedContainer()
    container.engine = Resource(engine)
    container.user = Resource(journal.async_generator("user"), engine=container.engine)
    lifecycle = Lifecycle(container)
    await lifecycle.start()
    lifecycle._holders["engine"]._task.cancel()
    await asyncio.sleep(0.01)
    assert lifecycle.state is State.FAILED
    await lifecycle.start()
    assert journal.events == ["+user", "-user", "+user"]
    await lifecycle.stop()
