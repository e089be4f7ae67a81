"""Real processes of an engine that never comes to be made."""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest

from containers import ModelContainer, ModelSettings, running
from containers.errors import StartError
from containers.lifecycle import State, lifecycle_of
from containers.vllm_api.engine_processes import EngineProcesses
from containers.vllm_api.left_memory import shared_memory_of

chat_template = import_module("containers.resources.chat_template")

pytestmark = pytest.mark.engine

WITHIN_S = 60.0
START_WITHIN_S = 400.0
TITLE = "VLLM::"
SEEN: set[str] = set()
"""Shared memory that engine processes of the test have had."""


@pytest.fixture(scope="module", autouse=True)
def one_server() -> Iterator[None]:
    """A fork server for all tests here, so that one import serves them all."""
    with EngineProcesses().held():
        yield


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No processes, no sockets and no shared memory must be left in the end."""
    SEEN.clear()
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    with tempfile.TemporaryDirectory() as place:  # a short path: sockets' have a limit
        monkeypatch.setenv("VLLM_RPC_BASE_PATH", place)
        yield
        assert list(Path(place).iterdir()) == []
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        if not engine_processes() and not memory_left(SEEN):
            break
        time.sleep(0.1)
    assert engine_processes() == []
    assert not memory_left(SEEN)
    assert not multiprocessing.active_children()


def memory_left(seen: set[str]) -> set[str]:
    return {name for name in seen if Path("/dev/shm", name).exists()}  # noqa: S108  # as it is


def engine_processes() -> list[str]:
    """Titles of this process' engine processes; their shared memory is noted."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            title = " ".join(child.cmdline())
            if TITLE in title:
                found.append(title)
                SEEN.update(shared_memory_of(child.pid))
    return found


def container(model_folder: str, **chat: Any) -> ModelContainer:
    engine = {"max_model_len": 256, "enforce_eager": True}
    settings = ModelSettings.model_validate(
        {"name": "a", "source": model_folder, "engine": engine, "chat": chat}
    )
    return ModelContainer(settings=settings)


async def test_a_bad_template_is_told_at_once_and_nothing_is_left(
    model_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = container(model_folder, template="{% if %}")
    monkeypatch.setattr(chat_template, "_configured", once_there_are_processes())
    with pytest.raises(StartError, match="is not valid Jinja") as caught:
        async with running(made):
            raise AssertionError("it does not start")
    assert caught.value.resource == "chat_template"
    record = lifecycle_of(made).records["engine_core"]
    assert (record.state, record.seconds) == (State.STOPPED, None)


def once_there_are_processes() -> Any:
    """The template's first step, put off until something has to be killed."""
    original = chat_template._configured

    def configured(*args: Any) -> Any:
        deadline = time.monotonic() + START_WITHIN_S
        while not engine_processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        return original(*args)

    return configured


async def test_processes_without_an_engine_end(model_folder: str) -> None:
    async with running(container(model_folder), "engine_core") as started:
        assert started.engine_core.client is not None
        assert len(engine_processes()) == 2


@pytest.mark.parametrize("after_s", [0.0, 0.3, 1.0, 2.0, 4.0])
async def test_a_start_given_up_at_any_moment_leaves_nothing(
    model_folder: str, after_s: float
) -> None:
    made = container(model_folder)
    starting = asyncio.ensure_future(lifecycle_of(made).start("engine"))
    async with asyncio.timeout(START_WITHIN_S):
        while not engine_processes():  # noqa: ASYNC110  # nothing tells it
            await asyncio.sleep(0.02)
    await asyncio.sleep(after_s)
    engine_processes()
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    await lifecycle_of(made).stop()
