"""Whatever happens in whatever order, each object lives once and as long as needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from app import supervision
from app.flights import Flights
from app.supervision import Supervisor
from containers.errors import ServingError
from containers.registry import ModelRegistry, ServedModel, residency, uses
from containers.settings import Settings
from tests.unit import small_model
from tests.unit.small_model import EngineDiedError, Journal, SmallModel, Thing
from tests.unit.unhurried_loop import UnhurriedLoop

pytestmark = pytest.mark.heavy

NAMES = ["a", "b", "c", "d"]
MOMENT_S = 0.004
ENOUGH_S = 10.0
SERVER = {
    "heal_attempts": 2,
    "heal_backoff_s": 0.001,
    "memory_budget_gib": 3.0,
    "load_wait_s": ENOUGH_S,
}

names = st.sampled_from(NAMES)
entries = st.fixed_dictionaries(
    {
        "engine": st.fixed_dictionaries({"seed": st.integers(0, 1)}),
        "chat": st.fixed_dictionaries({"response_role": st.sampled_from("xy")}),
        "load": st.sampled_from(["eager", "lazy"]),
        "memory_gib": st.just(1.0),
    },
    optional={"idle_timeout_s": st.just(0.002)},
)


class Generations(RuleBasedStateMachine):
    """Models that are reloaded, die, fail, go and come back while they are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=UnhurriedLoop)
        self.journal = small_model.JOURNAL = Journal()
        self.asking: set[asyncio.Task[None]] = set()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(uses, "monotonic", self.runner.get_loop().time)
        self.patch.setattr(residency, "LOOK_EVERY_S", 0.001)
        self.patch.setattr(supervision, "CHECK_EVERY_S", 0.001)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    @initialize(others=st.dictionaries(names, entries, max_size=2))
    def start(self, others: dict[str, Any]) -> None:
        # One that is there at once, so that no front end has to be imported.
        self.entries = {**others, "a": {"memory_gib": 1.0}}
        self.registry = ModelRegistry(
            {each.name: SmallModel(settings=each) for each in self.settings.models},
            server=self.settings.server,
        )
        self.flights = Flights()
        self.registry.residency.aside = self.flights.aside
        for model in self.registry:
            model.quiesce = self.flights.land_those_of_now
        self.run(self._start())

    async def _start(self) -> None:
        await self.registry.start()
        self.supervising = asyncio.create_task(Supervisor().run(self.registry))

    @property
    def settings(self) -> Settings:
        models = [{"name": n, "source": n, **each} for n, each in self.entries.items()]
        return Settings.model_validate({"server": SERVER, "models": models})

    @rule(name=names, n_steps=st.integers(0, 12), streams=st.booleans())
    def ask(self, name: str, n_steps: int, *, streams: bool) -> None:
        async def begin() -> None:
            work = self._ask(name, n_steps, streams=streams)
            self.asking.add(asyncio.create_task(work))
            await asyncio.sleep(0)

        self.run(begin())

    async def _ask(self, name: str, n_steps: int, *, streams: bool) -> None:
        if name not in self.registry.names:
            return  # a model that is alone sees every name, and vLLM refuses
        with self.flights.one():
            try:
                serving = self.registry.serving("serving_chat", name)
                if streams:
                    answer = await self._read(await serving.stream(n_steps))
                else:
                    answer = await serving.answer(n_steps)
            except (ServingError, EngineDiedError):
                return
            if answer not in {name, None}:
                self.journal.wrong(f"{name} was asked, and {answer} has answered")

    @staticmethod
    async def _read(events: AsyncGenerator[str, None]) -> str | None:
        answer = None
        async for answer in events:  # noqa: B007  # the last one
            pass
        return answer

    @rule(n=st.integers(1, 5))
    def wait(self, n: int) -> None:
        self.run(asyncio.sleep(n * MOMENT_S))

    @rule(name=names)
    def die(self, name: str) -> None:
        for model in self.registry:
            if model.name == name and model.is_ready:
                model.loaded.engine.errored = True

    @rule(resource=st.sampled_from(["engine", "chat_template", "serving_chat"]))
    def fail_once(self, resource: str) -> None:
        self.journal.failing = resource

    @rule(name=names, entry=entries)
    def reload(self, name: str, entry: dict[str, Any]) -> None:
        self._reload(self.entries | {name: entry})

    @rule(name=names)
    def remove(self, name: str) -> None:
        left = {n: each for n, each in self.entries.items() if n != name}
        if left:
            self._reload(left)

    def _reload(self, new: dict[str, Any]) -> None:
        before, self.entries = self.entries, new
        try:
            wanted = self.settings
            self.run(self.registry.reload(wanted))
        except ServingError:
            self.entries = before
        for model in self.registry:
            model.quiesce = self.flights.land_those_of_now

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert not self.journal.wrongs, self.journal.wrongs

    @invariant()
    def nothing_is_stopped_twice(self) -> None:
        assert all(each.n_closed <= 1 for each in self.journal.loaded)

    @invariant()
    def a_model_has_one_generation_and_it_is_whole(self) -> None:
        models = getattr(self, "registry", ())
        assert len({model.name for model in models}) == len(tuple(models))
        for model in models:
            if model.is_ready:
                things = [t for t in vars(model.loaded).values() if type(t) is Thing]
                assert [thing for thing in things if thing.n_closed] == []

    @invariant()
    def the_budget_is_kept(self) -> None:
        taken = [model for model in getattr(self, "registry", ()) if model.is_ready]
        assert len(taken) <= SERVER["memory_budget_gib"]

    def teardown(self) -> None:
        try:
            if hasattr(self, "registry"):
                self.run(self._end())
                self.nothing_is_wrong()
                counts = {t: t.n_closed for t in self.journal.loaded}
                assert {t: n for t, n in counts.items() if n != 1} == {}
        finally:
            self.runner.close()
            self.patch.undo()

    async def _end(self) -> None:
        async with asyncio.timeout(ENOUGH_S):
            await asyncio.gather(*self.asking)
            assert {model.uses.n for model in self.registry} <= {0}
            await self._heal()
            self.supervising.cancel()
            await asyncio.wait({self.supervising})
            await self.registry.stop()

    async def _heal(self) -> None:
        def is_settled(model: ServedModel) -> bool:
            return model.state != "healing" and not model.is_errored

        # It is over when every model is given up, and then nobody heals any more.
        while not (self.supervising.done() or all(map(is_settled, self.registry))):  # noqa: ASYNC110  # as outside
            await asyncio.sleep(0.001)


TestGenerations = Generations.TestCase
TestGenerations.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
