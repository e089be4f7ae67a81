from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvloop

from containers.errors import NotReadyError
from containers.lifecycle import LoadedContainer, Resource, State, running
from tests.unit.journal import Journal, chain


async def cycle(container: Any) -> None:
    async with running(container) as loaded:
        assert loaded.top.parts["middle"] is loaded.middle
        assert container.lifecycle.state is State.READY


def mixed(journal: Journal) -> Any:
    return chain(
        journal,
        bottom=journal.generator("bottom"),
        middle=None,
        top=journal.coroutine("top"),
    )


EVENTS = ["+bottom", "+middle", "+top", "-middle", "-bottom"]


def test_it_works_under_uvloop() -> None:
    journal = Journal()
    container = mixed(journal)
    for _ in range(2):
        uvloop.run(cycle(container))
    assert journal.events == EVENTS * 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="came with Python 3.12")
def test_it_works_with_eager_tasks() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009
        await cycle(container)

    journal = Journal()
    container = mixed(journal)
    asyncio.run(main())
    assert journal.events == EVENTS


def test_each_run_of_a_loop_gets_fresh_objects() -> None:
    journal = Journal()
    container = mixed(journal)
    for _ in range(3):
        asyncio.run(cycle(container))
    assert journal.events == EVENTS * 3


async def test_a_thread_may_start_a_container_in_a_loop_of_its_own() -> None:
    journal = Journal()
    container = mixed(journal)
    await asyncio.to_thread(asyncio.run, cycle(container))
    assert journal.events == EVENTS


async def test_another_loop_can_neither_stop_nor_start_what_is_loaded_here() -> None:
    container = mixed(Journal())
    async with running(container) as loaded:
        for call in (container.lifecycle.stop, container.lifecycle.start):
            with pytest.raises(RuntimeError, match="started in another event loop"):
                await asyncio.to_thread(lambda call=call: asyncio.run(call()))
        assert await asyncio.to_thread(container.top) is loaded.top


def test_two_threads_cannot_both_start_a_container() -> None:
    gate = threading.Event()
    began = threading.Event()
    outcomes: list[BaseException | None] = []

    def build() -> int:
        began.set()
        return gate.wait(5)

    async def start() -> None:
        try:
            async with running(container):
                outcomes.append(None)
        except RuntimeError as error:
            outcomes.append(error)

    container = LoadedContainer()
    container.engine = Resource(build)
    first = threading.Thread(target=lambda: asyncio.run(start()))
    first.start()
    began.wait(5)
    asyncio.run(start())
    gate.set()
    first.join(5)
    assert [type(outcome) for outcome in outcomes] == [RuntimeError, type(None)]


def test_a_loop_that_ends_without_a_stop_closes_everything_in_order() -> None:
    journal = Journal()

    async def slow_close(**_: Any) -> AsyncIterator[str]:
        try:
            yield "slow"
        finally:
            await asyncio.sleep(0.02)
            journal.events.append("-slow")

    container = chain(journal, engine=None, middle=None, slow=slow_close)
    asyncio.run(container.init_resources())
    assert journal.events == ["+engine", "+middle", "-slow", "-middle", "-engine"]
    assert container.lifecycle.state is State.STOPPED
    with pytest.raises(NotReadyError):
        container.middle()
    asyncio.run(container.init_resources())
    assert journal.closed == ["slow", "middle", "engine"] * 2


def test_a_loop_closed_while_loaded_is_a_clear_error_later() -> None:
    container = chain(Journal(), engine=Journal().coroutine("engine"))
    loop = asyncio.new_event_loop()
    loop.run_until_complete(container.init_resources())
    (task,) = asyncio.all_tasks(loop)
    with pytest.raises(RuntimeError, match="make a new container if that loop is gone"):
        asyncio.run(container.init_resources())
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()


def test_no_signal_handler_is_changed() -> None:
    def handlers() -> dict[signal.Signals, Any]:
        return {number: signal.getsignal(number) for number in signal.valid_signals()}

    async def main() -> None:
        before = handlers()
        async with running(mixed(Journal())):
            assert handlers() == before
        assert handlers() == before

    asyncio.run(main())


def test_no_task_and_no_thread_is_left() -> None:
    async def main() -> None:
        await cycle(mixed(Journal()))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    before = threading.active_count()
    asyncio.run(main())
    deadline = time.monotonic() + 5.0  # a thread that has said its last may still end
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


def test_order_is_the_same_in_every_run() -> None:
    async def engine(**_: Any) -> AsyncIterator[str]:
        await asyncio.sleep(0.005)
        yield "engine"

    def run() -> list[str]:
        journal = Journal()
        container = LoadedContainer()
        container.engine = Resource(engine)
        container.tokenizer = Resource(
            journal.async_generator("tokenizer"), engine=container.engine
        )
        container.template = Resource(
            journal.async_generator("template"), tokenizer=container.tokenizer
        )
        asyncio.run(container_cycle(container))
        return journal.events

    async def container_cycle(container: Any) -> None:
        async with running(container):
            pass

    expected = ["+tokenizer", "+template", "-template", "-tokenizer"]
    assert [run() for _ in range(5)] == [expected] * 5
