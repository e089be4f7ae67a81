"""A container that has another one's loaded objects and builds the rest around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from dependency_injector import containers, providers

from containers.errors import NotReadyError, StartError
from containers.lifecycle import LoadedContainer, Resource, lifecycle_of, running

log: list[str] = []


@pytest.fixture(autouse=True)
def _empty_log() -> None:
    log.clear()


def builder(name: str) -> Any:
    async def build(**needs: Any) -> AsyncIterator[Any]:
        log.append(f"start {name}")
        if "broken" in needs.values():
            raise ValueError("broken")
        thing = [name, needs]
        yield thing
        log.append(f"stop {name}")

    return build


class Three(containers.DeclarativeContainer):
    instance_type = LoadedContainer
    text = providers.Dependency(instance_of=str)
    low = Resource(builder("low"))
    middle = Resource(builder("middle"), low=low, text=text)
    high = Resource(builder("high"), middle=middle)


async def started(text: str = "a") -> Any:
    container = Three(text=text)
    await lifecycle_of(container).start()
    return container


async def successor(old: Any, *names: str, text: str = "b") -> Any:
    container = Three(text=text)
    lifecycle_of(container).borrow(lifecycle_of(old), names)
    await lifecycle_of(container).start()
    return container


async def test_only_the_rest_is_built() -> None:
    old = await started()
    log.clear()
    new = await successor(old, "low")
    assert log == ["start middle", "start high"]
    assert new.low() is old.low()
    assert new.middle()[1] == {"low": old.low(), "text": "b"}
    assert set(lifecycle_of(new).objects) == {"low", "middle", "high"}
    await lifecycle_of(old).stop()
    await lifecycle_of(new).stop()


@pytest.mark.parametrize("first_is_old", [True, False])
async def test_the_last_to_stop_closes_what_both_have(first_is_old: bool) -> None:
    old = await started()
    new = await successor(old, "low")
    log.clear()
    first, second = (old, new) if first_is_old else (new, old)
    await lifecycle_of(first).stop()
    assert log == ["stop high", "stop middle"]
    assert second.low()[0] == "low"
    with pytest.raises(NotReadyError):
        first.low()
    await lifecycle_of(second).stop()
    assert log == ["stop high", "stop middle"] * 2 + ["stop low"]
    with pytest.raises(NotReadyError):
        second.low()


async def test_a_failed_successor_leaves_the_lender_as_it_was() -> None:
    old = await started()
    new = Three(text="broken")
    lifecycle_of(new).borrow(lifecycle_of(old), ["low"])
    with pytest.raises(StartError):
        await lifecycle_of(new).start()
    await lifecycle_of(new).stop()
    assert "stop low" not in log
    assert old.high()[0] == "high"
    await lifecycle_of(old).stop()
    assert log[-3:] == ["stop high", "stop middle", "stop low"]


async def test_a_line_of_successors_closes_each_thing_once() -> None:
    line = [await started()]
    for number in range(20):
        line.append(await successor(line[-1], "low", text=str(number)))
    for old, new in pairwise(line):
        await lifecycle_of(old).stop()
        assert new.low()[0] == "low"
    await lifecycle_of(line[-1]).stop()
    assert log.count("stop low") == 1
    assert log.count("stop middle") == log.count("start middle") == 21


async def test_the_records_tell_of_borrowed_objects_too() -> None:
    old = await started()
    new = await successor(old, "low", "middle")
    records = lifecycle_of(new).records
    assert set(records) == {"low", "middle", "high"}
    assert {str(record.state) for record in records.values()} == {"ready"}
    await lifecycle_of(old).stop()
    await lifecycle_of(new).stop()
    assert {str(r.state) for r in lifecycle_of(new).records.values()} == {"stopped"}


async def test_nothing_is_borrowed_after_the_start() -> None:
    old, other = await started(), await started()
    with pytest.raises(RuntimeError, match="before the start"):
        lifecycle_of(other).borrow(lifecycle_of(old), ["low"])
    with pytest.raises(KeyError):
        lifecycle_of(Three(text="x")).borrow(lifecycle_of(Three(text="y")), ["low"])
    await lifecycle_of(old).stop()
    await lifecycle_of(other).stop()


async def test_what_a_borrowed_object_was_built_from_may_go_before_it() -> None:
    old = await started()
    new = Three(text="b")
    lifecycle_of(new).borrow(lifecycle_of(old), ["middle"])
    log.clear()
    await lifecycle_of(old).stop()
    assert sorted(log) == ["stop high", "stop low"]
    await lifecycle_of(new).start()
    assert new.middle()[1]["text"] == "a"
    await lifecycle_of(new).stop()
    assert sorted(log[4:]) == ["stop high", "stop low", "stop middle"]
    assert log.index("stop middle") > log.index("stop high", 2)


async def test_a_second_try_after_a_failure_is_stopped_by_its_block() -> None:
    old = await started()
    new = Three(text="broken")
    lifecycle_of(new).borrow(lifecycle_of(old), ["low"])
    with pytest.raises(StartError):
        await lifecycle_of(new).start()
    new.text.override(providers.Object("fine"))
    async with running(new):
        await lifecycle_of(old).stop()
        assert "stop low" not in log
    assert log.count("stop low") == 1
