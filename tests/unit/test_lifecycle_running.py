from __future__ import annotations

import asyncio

import pytest
from dependency_injector import containers, providers

from containers.errors import StopError
from containers.lifecycle import Lifecycle, LoadedContainer, Resource, State, running
from tests.unit.journal import Journal, chain


def app(journal: Journal) -> containers.DynamicContainer:
    container = LoadedContainer()
    container.settings = providers.Dependency(instance_of=dict, default={"a": 1})
    container.engine = Resource(
        journal.async_generator("engine"), size=container.settings.provided["a"]
    )
    container.client = providers.Singleton(list, container.engine.provided.parts)
    container.request = providers.Factory(list, container.client)
    container.chat = Resource(journal.generator("chat"), client=container.client)
    container.other = providers.Singleton(list)
    return container


async def test_attributes_are_the_loaded_objects() -> None:
    container = app(Journal())
    async with running(container) as loaded:
        assert loaded.engine is container.engine()
        assert loaded.engine.parts == {"size": 1}
        assert loaded.client is container.client()
        assert loaded.settings == {"a": 1}
        assert dir(loaded) == ["chat", "client", "engine", "settings"]
        assert repr(loaded) == "Running(settings, engine, client, chat)"


async def test_a_missing_attribute_names_the_nearest_one() -> None:
    async with running(app(Journal()), "chat") as loaded:
        with pytest.raises(AttributeError, match=r"'chatt': did you mean chat\?"):
            _ = loaded.chatt
        with pytest.raises(AttributeError, match="there are settings, engine, client"):
            _ = loaded.zzz
        assert not hasattr(loaded, "request")


async def test_the_namespace_stays_as_it_was_after_the_stop() -> None:
    container = app(Journal())
    async with running(container) as loaded:
        engine = container.engine()
    assert loaded.engine is engine


async def test_roots_may_be_plain_providers() -> None:
    journal = Journal()
    async with running(app(journal), "client") as loaded:
        assert loaded.client == ["size"]
        assert journal.opened == ["engine"]


async def test_an_error_of_the_block_is_not_masked_by_the_stop() -> None:
    journal = Journal()
    bad = journal.async_generator("engine", close_error=OSError("disk"))
    with pytest.raises(ValueError, match="mine") as caught:
        async with running(chain(journal, engine=bad)):
            raise ValueError("mine")
    assert caught.value.__notes__ == ["while engine was being closed: OSError: disk"]


async def test_a_stop_error_is_raised_when_the_block_ended_well() -> None:
    bad = Journal().async_generator("engine", close_error=OSError("disk"))
    with pytest.raises(StopError):
        async with running(chain(Journal(), engine=bad)):
            pass


async def test_a_cancelled_block_closes_everything() -> None:
    journal = Journal()
    ready = asyncio.Event()

    async def main() -> None:
        async with running(chain(journal, engine=None)):
            ready.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(main())
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert journal.events == ["+engine", "-engine"]


async def test_a_failing_plain_provider_does_not_leave_the_rest_running() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.engine = Resource(journal.async_generator("engine"))
    container.client = providers.Singleton(int, container.engine.provided.name)
    with pytest.raises(ValueError, match="invalid literal"):
        async with running(container, "client"):
            pass
    assert journal.events == ["+engine", "-engine"]


async def test_what_was_running_before_is_left_running() -> None:
    journal = Journal()
    container = chain(journal, engine=None)
    async with running(container) as outer:
        async with running(container) as inner:
            assert inner.engine is outer.engine
        assert container.lifecycle.state is State.READY
    assert journal.events == ["+engine", "-engine"]


async def test_a_plain_container_needs_no_base_class() -> None:
    class Plain(containers.DeclarativeContainer):
        engine = Resource(Journal().async_generator("engine"))

    container = Plain()
    async with running(container) as loaded:
        assert loaded.engine is container.engine()
    lifecycle = Lifecycle(container)
    await lifecycle.start()
    assert lifecycle.objects == {"engine": container.engine()}
    await lifecycle.stop(timeout_s=1)


async def test_a_container_without_resources_starts_and_stops_too() -> None:
    container = LoadedContainer()
    container.settings = providers.Object(1)
    async with running(container, "settings") as loaded:
        assert loaded.settings == 1
        assert container.lifecycle.state is State.READY
    assert container.lifecycle.state is State.STOPPED


async def test_blocks_that_overlap_share_the_container_until_the_last_ends() -> None:
    journal = Journal()
    container = app(journal)
    in_use, first_ended = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with running(container):
            await in_use.wait()

    async def second() -> None:
        async with running(container) as loaded:
            in_use.set()
            await first_ended.wait()
            assert loaded.engine is container.engine()

    tasks = [asyncio.ensure_future(first()), asyncio.ensure_future(second())]
    await tasks[0]
    first_ended.set()
    await tasks[1]
    assert container.lifecycle.state is State.STOPPED


async def test_a_container_started_by_other_means_is_left_running() -> None:
    container = app(Journal())
    await container.lifecycle.start()
    async with running(container):
        pass
    assert container.lifecycle.state is State.READY
    await container.lifecycle.stop()
