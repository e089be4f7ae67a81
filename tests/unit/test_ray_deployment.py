"""Waiting for an application that is deployed, over what Ray Serve tells of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from app.ray import deployment
from app.ray.deployment import NOT_WANTED, trouble_of_deployment
from containers.settings import RaySettings

pytestmark = pytest.mark.heavy
serve = pytest.importorskip("ray.serve")
exceptions = pytest.importorskip("ray.serve.exceptions")

RAY = RaySettings(application="ours", route_prefix="/llm")


class Told:
    """What Ray Serve is told, and tells, one state after the other."""

    def __init__(self, states: Iterator[str | None]) -> None:
        self.states = states
        self.targets: list[Any] = []

    def run_many(self, targets: Any, *, wait_for_applications_running: bool) -> None:
        assert not wait_for_applications_running
        self.targets += targets

    def status(self) -> Any:
        state = next(self.states)
        found = SimpleNamespace(status=state, message="no room for it")
        return SimpleNamespace(applications={} if state is None else {"ours": found})


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    made = Told(iter(()))
    monkeypatch.setattr(deployment, "LOOK_S", 0.01)
    monkeypatch.setattr(serve, "run_many", made.run_many)
    monkeypatch.setattr(serve, "status", made.status)
    return made


async def trouble(n_looks: int = 1000) -> str:
    looks = itertools.count()
    return await trouble_of_deployment(
        None, RAY, is_wanted=lambda: next(looks) < n_looks
    )


async def test_it_waits_until_the_application_runs(told: Told) -> None:
    told.states = iter(["DEPLOYING", "UNHEALTHY", "RUNNING"])
    assert await trouble() == ""
    (target,) = told.targets
    assert (target.name, target.route_prefix) == ("ours", "/llm")


async def test_what_fails_is_told(told: Told) -> None:
    told.states = iter(["DEPLOYING", "DEPLOY_FAILED"])
    assert await trouble() == "no room for it"
    told.states = iter(["DEPLOYING", None])
    assert await trouble() == "somebody took it away"


async def test_one_that_is_wanted_no_more_is_not_asked_for(told: Told) -> None:
    told.states = itertools.repeat("DEPLOYING")
    assert await trouble(n_looks=3) == NOT_WANTED


async def test_what_ray_refuses_is_told(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise exceptions.RayServeException("Prefix / is being used")

    monkeypatch.setattr(serve, "run_many", refuse)
    assert await trouble() == "Prefix / is being used"
