"""What a test has left behind, in sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dependency_injector.containers import Container

from containers.lifecycle import State, lifecycle_of
from containers.testing.overrides import overrides_of

_GRACE_S = 0.1
_RESOURCE = "resource "
_STOP = "stop its container, or start it with `async with running(...)`"

Task = asyncio.Task[Any]
Overrides = Mapping[str, tuple[Any, ...]]


def overrides_left(before: Overrides, now: Overrides, owner: str) -> Iterator[str]:
    """Overrides that were not there before."""
    for name, overriding in now.items():
        if overriding != before.get(name):
            yield (
                f"{owner}.{name} is still overridden: override it in a block, "
                f"`with {owner}.{name}.override(...):`"
            )


def container_left(before: Overrides, container: Container) -> Iterator[str]:
    """Overrides of a container that were not there before, and what it has loaded."""
    owner = "serving_container"
    yield from overrides_left(before, overrides_of(container), owner)
    if lifecycle_of(container).state in (State.STARTING, State.READY):
        yield f"{owner} is still started: {_STOP}"


async def tasks_left(before: Collection[Task]) -> list[str]:
    """Tasks of this loop that were not there before; they are cancelled.

    One that is about to end is waited for, for a moment.
    """
    left = asyncio.all_tasks().difference(before, {asyncio.current_task()})
    if left:
        _, left = await asyncio.wait(left, timeout=_GRACE_S)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_GRACE_S)
    return sorted(map(_described, left))


def _described(task: Task) -> str:
    name = task.get_name()
    if name.startswith(_RESOURCE):
        return f"{name.removeprefix(_RESOURCE)} is still started: {_STOP}"
    what = getattr(task.get_coro(), "__qualname__", repr(task))
    return f"task {name} still runs {what}: await or cancel it"
