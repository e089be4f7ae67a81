"""Real engines from a fork server: what they are, and how they end."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from containers import ModelContainer, ModelSettings, running
from containers.settings import PerformanceSettings
from containers.testing import FakeEngine
from containers.vllm_api import engine_processes
from containers.vllm_api.engine_processes import EngineProcesses
from containers.vllm_api.forkserver.choice import METHOD
from tests.conftest import tiny_settings

pytestmark = [pytest.mark.engine, pytest.mark.soak]

SERVER = "vllm-di fork server"
CORE, WORKER = "VLLM::EngineCore", "VLLM::Worker"
CPU = "0"
WORKER_LEAVES_WITHIN_S = 20.0


@pytest.fixture(scope="module")
def settings(model_folder: str) -> ModelSettings:
    """The bundled chat model."""
    return ModelSettings.model_validate(
        {
            "name": "smollm2",
            "source": model_folder,
            "engine": {"max_model_len": 512, "enforce_eager": True},
        }
    )


@pytest.fixture(scope="module", autouse=True)
def one_server() -> Iterator[None]:
    """A fork server for all tests here, so that one import serves them all."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get(METHOD) == "spawn":
            patch.delenv(METHOD)  # vLLM's own, from another test of this process
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", CPU)
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        processes = EngineProcesses()
        assert processes.reason == ""
        with processes.held():
            yield


def named(title: str) -> list[psutil.Process]:
    """Children of this process, or of its fork server, with such a title."""
    children = psutil.Process().children()
    servers = [each for each in children if has(SERVER, each)]
    if title == SERVER:
        return servers
    forked = [each for server in servers for each in server.children(recursive=True)]
    return [each for each in children + forked if has(title, each)]


def has(title: str, process: psutil.Process) -> bool:
    try:
        return title in " ".join(process.cmdline())
    except psutil.Error:  # it has ended
        return False


def has_ended(process: psutil.Process) -> bool:
    """Whether it runs no more, though whoever adopted it may not have noticed yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@asynccontextmanager
async def model(settings: ModelSettings, **performance: Any) -> AsyncIterator[Any]:
    container = ModelContainer(
        settings=settings, performance=PerformanceSettings(**performance)
    )
    async with running(container, "engine") as started:
        yield started


async def text_of(engine: Any, request_id: str) -> str:
    from vllm import SamplingParams

    options = SamplingParams(temperature=0, max_tokens=6)
    prompt = "The capital of France is"
    async for output in engine.generate(prompt, options, request_id):
        last = output
    return str(last.outputs[0].text)


async def test_engines_one_after_the_other_and_at_once_come_from_one_server(
    settings: ModelSettings,
) -> None:
    texts = []
    async with model(settings) as first:
        (server,), (core,), (worker,) = named(SERVER), named(CORE), named(WORKER)
        assert {core.ppid(), worker.ppid()} == {server.pid}
        assert worker.cpu_affinity() == [int(CPU)]
        assert len(core.cpu_affinity()) == len(os.sched_getaffinity(0))
        texts.append(await text_of(first.engine, "a"))
        async with model(settings) as second:
            assert len(named(CORE)) == 2
            texts.append(await text_of(second.engine, "b"))
        assert len(named(CORE)) == 1
    assert named(CORE) == named(WORKER) == []
    async with model(settings) as third:
        texts.append(await text_of(third.engine, "c"))
        assert named(SERVER) == [server]
    assert len(set(texts)) == 1
    assert "Paris" in texts[0]
    assert not multiprocessing.active_children()


async def test_an_engine_that_was_killed_is_followed_by_another(
    settings: ModelSettings,
) -> None:
    async with model(settings) as started:
        (core,) = named(CORE)
        core.kill()
        async with asyncio.timeout(30):
            while not started.engine.errored:  # noqa: ASYNC110  # a flag of vLLM
                await asyncio.sleep(0.05)
        with pytest.raises(Exception, match="EngineCore"):
            await text_of(started.engine, "a")
    async with asyncio.timeout(WORKER_LEAVES_WITHIN_S):
        while named(WORKER):  # noqa: ASYNC110  # it notices by itself
            await asyncio.sleep(0.05)
    assert named(CORE) == []
    async with model(settings) as started:
        assert "Paris" in await text_of(started.engine, "b")


async def test_an_engine_lives_on_without_its_server_and_stops_cleanly(
    settings: ModelSettings,
) -> None:
    async with model(settings) as started:
        (server,), (core,), (worker,) = named(SERVER), named(CORE), named(WORKER)
        server.kill()
        assert "Paris" in await text_of(started.engine, "a")
        assert core.is_running()
    async with asyncio.timeout(WORKER_LEAVES_WITHIN_S):
        while not (has_ended(core) and has_ended(worker)):  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.05)


async def test_switched_off_the_engine_is_started_by_vllms_own_method(
    settings: ModelSettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(engine_processes, "_told", set())
    with caplog.at_level(logging.INFO, logger=engine_processes.__name__):
        async with model(settings, fast_start=False) as started:
            (core,) = named(CORE)
            assert core.ppid() == os.getpid()
            assert "Paris" in await text_of(started.engine, "a")
    assert "performance.fast_start is false" in caplog.text


async def test_a_double_of_the_engine_starts_no_server(tiny_folder: Path) -> None:
    container = ModelContainer(settings=tiny_settings(tiny_folder))
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as started:
        with pytest.raises(AttributeError):
            _ = started.engine_processes
