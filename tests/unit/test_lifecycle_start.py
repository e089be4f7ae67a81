from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dependency_injector import containers, providers

from containers.errors import GraphError, StartError
from containers.lifecycle import Lifecycle, LoadedContainer, Resource, State, running
from tests.unit.journal import Journal, chain


def diamond(journal: Journal) -> containers.DynamicContainer:
    container = LoadedContainer()
    container.base = Resource(journal.async_generator("base"))
    container.left = Resource(journal.generator("left"), base=container.base)
    container.right = Resource(journal.async_generator("right"), base=container.base)
    container.top = Resource(
        journal.async_generator("top"), left=container.left, right=container.right
    )
    container.lonely = Resource(journal.async_generator("lonely"))
    return container


async def test_only_what_the_roots_need_is_started() -> None:
    journal = Journal()
    container = diamond(journal)
    async with running(container, "left"):
        assert journal.opened == ["base", "left"]
    assert journal.closed == ["left", "base"]


async def test_a_start_without_roots_loads_every_resource() -> None:
    journal = Journal()
    async with running(diamond(journal)):
        assert sorted(journal.opened) == ["base", "left", "lonely", "right", "top"]


async def test_independent_resources_load_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=5)
    container = LoadedContainer()
    for name in ("a", "b", "c"):
        container.set_provider(name, Resource(meeting.wait))
    async with running(container) as loaded:
        assert sorted((loaded.a, loaded.b, loaded.c)) == [0, 1, 2]


async def test_a_resource_starts_as_soon_as_its_own_needs_are_ready() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.slow = Resource(journal.hanging("slow"))
    container.quick = Resource(journal.coroutine("quick"))
    container.user = Resource(journal.coroutine("user"), quick=container.quick)
    start = asyncio.ensure_future(container.init_resources())
    await asyncio.sleep(0.01)
    assert container.user().parts == {"quick": container.quick()}
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start


async def test_blocking_builders_leave_the_loop_free() -> None:
    container = LoadedContainer()
    release = threading.Event()
    container.model = Resource(lambda: release.wait(5))
    asyncio.get_running_loop().call_later(0.01, release.set)
    async with running(container) as loaded:
        assert loaded.model is True


async def test_a_second_start_does_nothing_and_another_root_starts_the_rest() -> None:
    journal = Journal()
    container = diamond(journal)
    lifecycle = container.lifecycle
    await lifecycle.start("left")
    left = container.left()
    await lifecycle.start("left", "base")
    assert journal.events == ["+base", "+left"]
    await lifecycle.start("top")
    assert journal.opened == ["base", "left", "right", "top"]
    assert container.left() is left
    assert list(lifecycle.records) == ["base", "left", "right", "top"]
    await lifecycle.stop()
    assert journal.closed[0] == "top"
    assert journal.closed[-1] == "base"


async def test_concurrent_starts_load_everything_once() -> None:
    journal = Journal()
    container = diamond(journal)
    lifecycle = container.lifecycle
    await asyncio.gather(
        lifecycle.start("top"), lifecycle.start(), lifecycle.start("right")
    )
    assert sorted(journal.opened) == ["base", "left", "lonely", "right", "top"]
    await lifecycle.stop()


async def test_a_waiting_start_tries_again_when_the_first_is_cancelled() -> None:
    journal = Journal()
    container = chain(journal, engine=None, serving=journal.hanging("serving"))
    first = asyncio.ensure_future(container.lifecycle.start())
    second = asyncio.ensure_future(container.lifecycle.start("engine"))
    while "?serving" not in journal.events:  # noqa: ASYNC110  # nothing tells it
        await asyncio.sleep(0.001)
    first.cancel()
    await second
    assert first.cancelled()
    assert journal.events == ["+engine", "?serving", "!serving", "-engine", "+engine"]
    await container.lifecycle.stop()


async def test_a_failed_addition_leaves_what_ran_before_running() -> None:
    journal = Journal()
    container = chain(journal, a=None, b=None, c=journal.failing(ValueError("no")))
    lifecycle = container.lifecycle
    await lifecycle.start("a")
    with pytest.raises(StartError):
        await lifecycle.start()
    assert journal.events == ["+a", "+b", "-b"]
    assert lifecycle.state is State.READY
    await lifecycle.stop()
    assert journal.closed == ["b", "a"]


async def test_a_failure_names_the_resource_the_path_and_the_reason() -> None:
    journal = Journal()
    error = ValueError("no such file.")
    container = chain(journal, config=None, engine=journal.failing(error), top=None)
    with pytest.raises(StartError) as caught:
        await container.init_resources()
    assert caught.value.__cause__ is error
    assert caught.value.resource == "engine"
    assert caught.value.path == ("top", "engine")
    assert caught.value.reason == "ValueError: no such file"
    assert journal.events == ["+config", "-config"]
    assert container.lifecycle.state is State.FAILED
    records = container.lifecycle.records
    assert {name: str(record.state) for name, record in records.items()} == {
        "config": "stopped",
        "engine": "failed",
        "top": "not started",
    }
    assert records["engine"].error is error


async def test_trouble_while_rolling_back_is_a_note_of_the_first_error() -> None:
    journal = Journal()
    bad_close = journal.async_generator("config", close_error=OSError("disk"))
    container = chain(
        journal,
        device=None,
        config=bad_close,
        engine=journal.failing(ValueError("no")),
    )
    with pytest.raises(StartError) as caught:
        await container.init_resources()
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__notes__ == ["while config was being closed: OSError: disk"]
    assert journal.closed == ["config", "device"]


async def test_siblings_still_loading_are_cancelled_when_one_fails() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.slow = Resource(journal.hanging("slow"))
    container.bad = Resource(journal.failing(ValueError("no")))
    container.user = Resource(journal.coroutine("user"), slow=container.slow)
    with pytest.raises(StartError, match=r"bad did not start \(bad\): ValueError: no"):
        await container.init_resources()
    assert journal.events == ["?slow", "!slow"]


async def test_a_late_blocking_result_is_waited_for_and_closed() -> None:
    journal = Journal()

    def slow(**_: Any) -> Iterator[str]:
        time.sleep(0.05)
        journal.events.append("+slow")
        yield "late"
        journal.events.append("-slow")

    container = LoadedContainer()
    container.base = Resource(journal.async_generator("base"))
    container.slow = Resource(slow, base=container.base)
    container.bad = Resource(journal.failing(ValueError("no")), base=container.base)
    with pytest.raises(StartError, match="bad did not start"):
        await container.init_resources()
    assert journal.events == ["+base", "+slow", "-slow", "-base"]


async def test_a_builder_that_never_ends_is_left_but_closed_when_it_arrives() -> None:
    journal = Journal()
    release = threading.Event()

    def stuck(**_: Any) -> Iterator[str]:
        release.wait(5)
        journal.events.append("+stuck")
        yield "late"
        journal.events.append("-stuck")

    container = LoadedContainer()
    container.base = Resource(journal.async_generator("base"))
    container.stuck = Resource(stuck, base=container.base)
    lifecycle = Lifecycle(container, stop_timeout_s=0.05)
    with pytest.raises(StartError, match=r"not ready after 0\.01 s") as caught:
        await lifecycle.start(resource_timeout_s=0.01)
    (note,) = caught.value.__notes__
    assert note.startswith("while stuck was being closed: TimeoutError")
    assert note.endswith("it was still starting when its time was up")
    assert journal.events == ["+base", "-base"]
    (thread,) = (t for t in threading.enumerate() if t.name == "stuck")
    release.set()
    await asyncio.to_thread(thread.join, 1)
    assert journal.events == ["+base", "-base", "+stuck", "-stuck"]


@pytest.mark.parametrize("limit", ["timeout_s", "resource_timeout_s"])
async def test_a_timeout_names_the_resource_that_was_loading(limit: str) -> None:
    journal = Journal()
    container = chain(journal, base=None, engine=journal.hanging("engine"), top=None)
    with pytest.raises(StartError, match=r"after 0\.02 s.*more time") as caught:
        await container.lifecycle.start(**{limit: 0.02})
    assert caught.value.path == ("top", "engine")
    assert isinstance(caught.value.__cause__, TimeoutError)
    assert journal.events == ["+base", "?engine", "!engine", "-base"]


async def test_each_builder_has_its_own_time() -> None:
    async def brief(**_: Any) -> None:
        await asyncio.sleep(0.03)

    container = chain(Journal(), a=brief, b=brief, c=brief)
    await container.lifecycle.start(resource_timeout_s=0.08)
    await container.lifecycle.stop()


async def test_a_cancelled_start_rolls_back_and_raises_the_cancellation() -> None:
    journal = Journal()
    container = chain(journal, base=None, engine=journal.hanging("engine"))
    start = asyncio.ensure_future(container.lifecycle.start())
    await asyncio.sleep(0.01)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert journal.events == ["+base", "?engine", "!engine", "-base"]
    assert container.lifecycle.state is State.STOPPED


async def test_more_cancellations_do_not_lose_a_close() -> None:
    journal = Journal()
    gate = asyncio.Event()
    slow_close = journal.async_generator("base", close_gate=gate)
    container = chain(journal, base=slow_close, engine=journal.hanging("engine"))
    start = asyncio.ensure_future(container.lifecycle.start())
    for _ in range(4):
        await asyncio.sleep(0.005)
        start.cancel()
    assert not start.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert journal.closed == ["base"]


async def test_a_cancellation_while_rolling_back_an_error_wins_after_the_closes() -> (
    None
):
    journal = Journal()
    gate = asyncio.Event()
    slow_close = journal.async_generator("base", close_gate=gate)
    container = chain(
        journal, base=slow_close, engine=journal.failing(ValueError("no"))
    )
    start = asyncio.ensure_future(container.lifecycle.start())
    await asyncio.sleep(0.01)
    start.cancel()
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert journal.closed == ["base"]


async def test_a_builder_that_cancels_itself_is_a_failure() -> None:
    container = chain(Journal(), engine=Journal().failing(asyncio.CancelledError()))
    with pytest.raises(StartError, match="CancelledError"):
        await container.lifecycle.start()


async def test_ctrl_c_in_a_builder_comes_out_as_itself() -> None:
    journal = Journal()
    container = chain(journal, a=None, b=journal.failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        await container.lifecycle.start()
    assert journal.events == ["+a", "-a"]


async def test_a_stop_ends_a_start_that_is_under_way() -> None:
    journal = Journal()
    container = chain(journal, base=None, engine=journal.hanging("engine"))
    start = asyncio.ensure_future(container.lifecycle.start())
    await asyncio.sleep(0.01)
    await container.lifecycle.stop()
    with pytest.raises(StartError, match=r"engine.*stop\(\) was called"):
        await start
    assert journal.events == ["+base", "?engine", "!engine", "-base"]


async def test_a_retry_on_the_same_container_works() -> None:
    journal = Journal()
    errors: list[Exception] = [ValueError("first")]

    async def engine(**_: Any) -> str:
        if errors:
            raise errors.pop()
        return "engine"

    container = LoadedContainer()
    container.base = Resource(journal.async_generator("base"))
    container.held = providers.Singleton(list, container.base.provided.name)
    container.engine = Resource(engine, held=container.held)
    with pytest.raises(StartError):
        await container.init_resources()
    async with running(container) as loaded:
        assert loaded.engine == "engine"
    assert journal.events == ["+base", "-base", "+base", "-base"]


async def test_nothing_starts_when_the_graph_is_wrong() -> None:
    journal = Journal()
    container = LoadedContainer()
    container.good = Resource(journal.async_generator("good"))
    container.bad = Resource(journal.coroutine("bad"), parts=[container.good])
    with pytest.raises(GraphError, match="hidden in a plain list"):
        await container.init_resources()
    with pytest.raises(GraphError, match=r"Did you mean good\?"):
        await container.lifecycle.start("god")
    assert journal.events == []


async def test_records_tell_the_life_of_each_resource() -> None:
    journal = Journal()
    container = chain(journal, base=None, engine=None)
    lifecycle = container.lifecycle
    assert lifecycle.records == {}
    seen = []
    end = lifecycle.listen(lambda record: seen.append((record.name, str(record.state))))
    await lifecycle.start()
    record = lifecycle.records["engine"]
    assert record.state == "ready"
    assert record.seconds is not None
    assert record.started_at is not None
    assert record.ready_at is not None
    assert 0 <= record.seconds < 1
    assert abs(record.ready_at - record.started_at - record.seconds) < 0.05
    end()
    await lifecycle.stop()
    assert seen == [
        ("base", "starting"),
        ("base", "ready"),
        ("engine", "starting"),
        ("engine", "ready"),
    ]
    assert [str(r.state) for r in lifecycle.records.values()] == ["stopped"] * 2


async def test_a_failing_listener_does_not_disturb_the_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def listener(_: object) -> None:
        raise ValueError("display gone")

    container = chain(Journal(), engine=None)
    container.lifecycle.listen(listener)
    async with running(container) as loaded:
        assert loaded.engine.name == "engine"
    assert "display gone" in caplog.text
