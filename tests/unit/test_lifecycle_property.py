"""Random graphs with random trouble: what must hold whatever happens."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from dependency_injector import containers, providers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from containers.errors import StartError, StopError
from containers.lifecycle import Lifecycle, Resource, State

pytestmark = pytest.mark.heavy

N_EXAMPLES = int(os.environ.get("VLLM_DI_EXAMPLES", "50"))
TICK_S = 0.001

KINDS = ("function", "generator", "coroutine", "async generator")
BETWEEN = ("nothing", "singleton", "factory", "list", "provided")


@dataclass(frozen=True)
class Plan:
    """What one resource of an example is and does."""

    kind: str
    needs: tuple[tuple[int, str], ...]
    start: str
    close: str
    ticks: int
    override: str


@dataclass(frozen=True)
class Example:
    """A graph, and what happens to its start and stop."""

    plans: tuple[Plan, ...]
    cancel_start_after: int | None
    cancels: int
    cancel_stop_after: int | None
    timeout_s: float | None
    resource_timeout_s: float | None


@dataclass
class World:
    """What really happened."""

    is_healthy: bool = False
    events: list[tuple[str, str, int]] = field(default_factory=list)
    n_made: int = 0

    def make(self, name: str) -> tuple[str, int]:
        self.n_made += 1
        self.events.append(("open", name, self.n_made))
        return name, self.n_made

    def close(self, made: tuple[str, int]) -> None:
        self.events.append(("close", *made))


@st.composite
def examples(draw: st.DrawFn) -> Example:
    plans = []
    for index in range(draw(st.integers(1, 7))):
        targets = draw(st.sets(st.integers(0, index - 1))) if index else set()
        plans.append(
            Plan(
                kind=draw(st.sampled_from(KINDS)),
                needs=tuple((t, draw(st.sampled_from(BETWEEN))) for t in targets),
                start=draw(st.sampled_from(("ok",) * 8 + ("fail", "hang", "stubborn"))),
                close=draw(st.sampled_from(("ok",) * 3 + ("fail",))),
                ticks=draw(st.integers(0, 3)),
                override=draw(st.sampled_from(("",) * 8 + ("object", "resource"))),
            )
        )
    maybe_ticks = st.none() | st.integers(0, 8)
    return Example(
        plans=tuple(plans),
        cancel_start_after=draw(maybe_ticks),
        cancels=draw(st.integers(1, 3)),
        cancel_stop_after=draw(maybe_ticks),
        timeout_s=draw(st.sampled_from((0.01, 0.02))),
        resource_timeout_s=draw(st.sampled_from((None, 0.005))),
    )


class Behaviour:
    """What one resource of an example does, as builders of every kind."""

    def __init__(self, plan: Plan, name: str, world: World) -> None:
        self.plan, self.name, self.world = plan, name, world

    @property
    def builder(self) -> Callable[..., Any]:
        kind = self.plan.kind.replace(" ", "_")
        built: Callable[..., Any] = getattr(self, kind)
        return built

    def function(self, **_: Any) -> Any:
        if self._enters("hang", "stubborn"):
            time.sleep(15 * TICK_S)
        return self.world.make(self.name)

    def generator(self, **_: Any) -> Iterator[Any]:
        made = self.function()
        try:
            yield made
        finally:
            time.sleep(TICK_S)
            self._close(made)

    async def coroutine(self, **_: Any) -> Any:
        if self._enters("hang"):
            await asyncio.Event().wait()
        if self._enters("stubborn"):
            try:
                await asyncio.sleep(15 * TICK_S)
            except asyncio.CancelledError:
                await asyncio.sleep(TICK_S)
        await asyncio.sleep(self.plan.ticks * TICK_S)
        return self.world.make(self.name)

    async def async_generator(self, **_: Any) -> AsyncIterator[Any]:
        made = await self.coroutine()
        try:
            yield made
        finally:
            await asyncio.sleep(TICK_S)
            self._close(made)

    def _enters(self, *troubles: str) -> bool:
        if self.world.is_healthy:
            return False
        if self.plan.start == "fail":
            raise ValueError(self.name)
        return self.plan.start in troubles

    def _close(self, made: tuple[str, int]) -> None:
        self.world.close(made)
        if self.plan.close == "fail" and not self.world.is_healthy:
            raise OSError(self.name)


def declare(example: Example, world: World) -> containers.DynamicContainer:
    container = containers.DynamicContainer()
    for index, plan in enumerate(example.plans):
        name = f"r{index}"
        uses = {
            f"r{target}": between(getattr(container, f"r{target}"), how)
            for target, how in plan.needs
        }
        resource = Resource(Behaviour(plan, name, world).builder, **uses)
        container.set_provider(name, resource)
        if plan.override == "object":
            resource.override(providers.Object((name, 0)))
        elif plan.override == "resource":
            stand_in = Behaviour(plan, f"{name} stand-in", world)
            resource.override(Resource(stand_in.builder))
    return container


def between(provider: Any, how: str) -> Any:
    return {
        "nothing": lambda: provider,
        "singleton": lambda: providers.Singleton(list, provider),
        "factory": lambda: providers.Factory(list, provider),
        "list": lambda: providers.List(providers.List(provider)),
        "provided": lambda: provider.provided[0],
    }[how]()


def used_by(example: Example) -> dict[str, set[str]]:
    """All a resource needs, transitively, by the names that world sees."""
    names: dict[int, str] = {}
    needs: dict[str, set[str]] = {}
    for index, plan in enumerate(example.plans):
        name = f"r{index}" + (" stand-in" if plan.override == "resource" else "")
        names[index] = name
        needs[name] = set()
        if not plan.override:
            for target, _ in plan.needs:
                needs[name] |= {names[target]} | needs[names[target]]
    return needs


async def cancelling(
    coroutine: Any, ticks: int | None, times: int
) -> BaseException | bool | None:
    task = asyncio.ensure_future(coroutine)
    if ticks is not None:
        for _ in range(times):
            await asyncio.sleep(ticks * TICK_S)
            task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    return outcome


async def live(example: Example, world: World) -> None:
    container = declare(example, world)
    lifecycle = Lifecycle(container, stop_timeout_s=5)
    limits = {
        "timeout_s": example.timeout_s,
        "resource_timeout_s": example.resource_timeout_s,
    }
    outcome = await cancelling(
        lifecycle.start(**limits), example.cancel_start_after, example.cancels
    )
    if outcome is True:
        assert lifecycle.state is State.READY
        outcome = await cancelling(
            lifecycle.stop(), example.cancel_stop_after, example.cancels
        )
        assert isinstance(outcome, (type(None), StopError, asyncio.CancelledError))
    else:
        assert isinstance(outcome, (StartError, asyncio.CancelledError))
    check(world, example)
    assert asyncio.all_tasks() == {asyncio.current_task()}

    world.is_healthy = True
    world.events.clear()
    before = world.n_made
    await lifecycle.start()
    n_loaded = len([e for e in world.events if e[0] == "open"])
    assert n_loaded == world.n_made - before
    assert n_loaded == len([n for n in lifecycle.records if is_built(n, example)])
    await lifecycle.stop()
    check(world, example)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def is_built(name: str, example: Example) -> bool:
    return example.plans[int(name[1:])].override != "object"


def check(world: World, example: Example) -> None:
    needs = used_by(example)
    opened = {event[2]: n for n, event in enumerate(world.events) if event[0] == "open"}
    closed = [event[2] for event in world.events if event[0] == "close"]
    names = {event[2]: event[1] for event in world.events}
    keeps = {m for m in opened if "generator" in kind_of(names[m], example)}
    assert sorted(closed) == sorted(keeps), "each closed exactly once"
    for (user, user_at), (need, need_at) in product(opened.items(), repeat=2):
        if names[need] in needs[names[user]]:
            assert need_at < user_at, "started after what it needs"
            if user in keeps and need in keeps:
                assert closed.index(user) < closed.index(need)


def kind_of(name: str, example: Example) -> str:
    return example.plans[int(name.split(maxsplit=1)[0][1:])].kind


@settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(examples())
def test_everything_started_is_closed_once_after_its_users(example: Example) -> None:
    before = set(threading.enumerate())
    world = World()
    asyncio.run(live(example, world))
    left = set(threading.enumerate()) - before
    for thread in left:
        thread.join(1)
    assert not [thread for thread in left if thread.is_alive()]
