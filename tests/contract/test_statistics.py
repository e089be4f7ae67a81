"""An engine's statistics are kept and logged as ``vllm serve`` does it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from containers import ModelSettings, vllm_api
from containers.resources.engine import engine
from containers.vllm_api import engine as starting
from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.statistics import count_tool_calls, statistics_logged
from tests.contract.test_command_lines import parse


class Counting:
    """An engine that counts how often its statistics are logged."""

    def __init__(self, *, fails: bool = False) -> None:
        self.n_logged = 0
        self.logged = asyncio.Event()
        self._fails = fails

    async def do_log_stats(self) -> None:
        self.n_logged += 1
        self.logged.set()
        if self._fails:
            raise RuntimeError("the engine is dead")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_LOG_STATS_INTERVAL", "0.01")


async def logged(counting: Counting, n_times: int) -> None:
    for _ in range(n_times):
        await counting.logged.wait()
        counting.logged.clear()


async def test_they_are_logged_again_and_again_until_the_engine_stops() -> None:
    counting = Counting()
    async with asyncio.timeout(5), statistics_logged(counting):
        assert counting.n_logged == 0
        await logged(counting, 3)
    until_then = counting.n_logged
    await asyncio.sleep(0.05)
    assert counting.n_logged == until_then


async def test_a_failing_engine_disturbs_nobody() -> None:
    counting = Counting(fails=True)
    async with asyncio.timeout(5), statistics_logged(counting):
        await logged(counting, 1)


@asynccontextmanager
async def started(
    monkeypatch: pytest.MonkeyPatch, settings: ModelSettings
) -> AsyncIterator[tuple[Counting, dict[str, Any]]]:
    """The engine's resource, with vLLM's construction of the engine left out."""
    made: dict[str, Any] = {}
    counting = Counting()
    names = inspect.signature(starting.EngineStart).parameters

    async def give(_: Any) -> Counting:
        return counting

    def note(**options: Any) -> None:
        assert set(options) <= set(names)
        made.update(options)

    async def forget(_: Any) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(starting, "EngineStart", note)
    monkeypatch.setattr(starting, "start_engine", give)
    monkeypatch.setattr(starting, "stop_engine", forget)
    given = dict.fromkeys(inspect.signature(engine).parameters)
    processes = SimpleNamespace(start=partial(asyncio.sleep, 0))
    resource = engine(**{**given, "settings": settings, "engine_core": processes})
    yield await anext(resource), made
    await resource.aclose()


@pytest.mark.parametrize("is_off", [False, True])
async def test_the_settings_say_whether_and_how(
    monkeypatch: pytest.MonkeyPatch, is_off: bool
) -> None:
    arguments = {"disable_log_stats": is_off, "aggregate_engine_logging": not is_off}
    settings = ModelSettings(name="m", source="s", engine=arguments)
    async with started(monkeypatch, settings) as (counting, made):
        assert made["log_stats"] is not is_off
        assert made["aggregate_logging"] is not is_off
        await asyncio.sleep(0.1)
        assert bool(counting.n_logged) is not is_off


async def test_a_tool_parsers_finds_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vllm.parser import metrics

    monkeypatch.setattr(metrics, "_tool_call_parser_invocations", None)
    chat = {"enable_auto_tool_choice": True, "tool_call_parser": "hermes"}
    settings = ModelSettings.model_validate({"name": "m", "source": "s", "chat": chat})
    async with started(monkeypatch, settings):
        labels = {"mode": "streaming", "outcome": "tool_call"}
        labels |= {"model_name": "m", "request_type": "chat_completions"}
        counter = "vllm:tool_call_parser_invocations_total"
        assert REGISTRY.get_sample_value(counter, labels) == 0
    count_tool_calls("m")  # a model that starts again


def test_the_defaults_are_those_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(
        vllm_api.AsyncEngineArgs, "create_engine_config", lambda self, **_: self
    )
    ours = create_vllm_config(model="m", served_model_name=["m"], arguments={})
    theirs = vllm_api.AsyncEngineArgs.from_cli_args(parse(["serve", "m"]))
    same = {"served_model_name": ["m"], "enable_lora": False}
    same["reasoning_parser_plugin"] = None  # the same to vLLM as an empty one
    for name in (field.name for field in fields(theirs)):
        wanted = same.get(name, getattr(theirs, name))
        assert getattr(ours, name) == wanted, name
