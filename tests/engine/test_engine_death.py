"""Real processes killed with SIGKILL: what clients see, what is left, how it ends."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.engine.servers import CHAT, Server, serve

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("model_folder")]

N_STREAMS = 8
TRUTH_WITHIN_S = 5.0
ORPHANS_WITHIN_S = 25.0
IMPORT_S = 20.0
"""Seconds a process may go on importing before it can notice that it is alone."""

STORY = {
    "model": "smollm2",
    "messages": [{"role": "user", "content": "Tell me a very long story."}],
    "stream": True,
    "ignore_eos": True,
    "max_tokens": 1900,
}


class Streams:
    """Clients reading long answers, each in a thread of its own."""

    def __init__(self, url: str, n: int, **fields: Any) -> None:
        self._body = STORY | fields
        self.ends: list[list[str]] = []
        self.n_reading = 0
        self._url = url
        self._threads = [threading.Thread(target=self._read) for _ in range(n)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)

    def _read(self) -> None:
        url = f"{self._url}/v1/chat/completions"
        with httpx.stream("POST", url, json=self._body, timeout=60) as response:
            assert response.status_code == 200
            lines: list[str] = []
            for line in response.iter_lines():
                if line and not lines:
                    self.n_reading += 1
                if line:
                    lines.append(line.removeprefix("data: "))
        self.ends.append(lines[-2:])


@pytest.fixture
def loading(tmp_path: Path) -> Iterator[Server]:
    """A server whose engine process has begun to load."""
    with killed_at_the_end(serve(tmp_path, models=[CHAT])) as started:
        started.wait_for(lambda: bool(engine_processes(started, "VLLM::EngineCore")))
        yield started


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that is ready."""
    with killed_at_the_end(serve(tmp_path, models=[CHAT])) as started:
        started.wait_until_ready()
        yield started


@contextmanager
def killed_at_the_end(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.kill()
        server.left_behind()


def engine_processes(server: Server, name: str) -> list[psutil.Process]:
    return [each for each in server.children() if name in " ".join(each.cmdline())]


def engine_process(server: Server, name: str) -> psutil.Process:
    # A process it has just forked bears its name for a moment.
    return min(engine_processes(server, name), key=psutil.Process.create_time)


def assert_openai_error(event: str) -> None:
    error: dict[str, Any] = json.loads(event)["error"]
    assert error["code"] >= 500
    assert error["message"]


@pytest.mark.parametrize(
    "victim",
    ["VLLM::EngineCore", pytest.param("VLLM::Worker", marks=pytest.mark.soak)],
)
def test_the_death_of_an_engine_process_is_told_and_ends_the_server(
    server: Server, victim: str
) -> None:
    streams = Streams(server.url, N_STREAMS)
    server.wait_for(lambda: streams.n_reading == N_STREAMS)
    engine_process(server, victim).kill()
    killed = time.monotonic()
    streams.join()
    for error, done in streams.ends:
        assert_openai_error(error)
        assert done == "[DONE]"
    assert len(streams.ends) == N_STREAMS
    assert server.process.wait(30) == 1, server.log
    assert time.monotonic() - killed < 30
    assert "the engine's process has died" in server.log
    assert server.left_behind() == []


@pytest.mark.soak
def test_the_death_of_an_engine_process_while_it_loads_ends_the_server(
    loading: Server,
) -> None:
    engine_process(loading, "VLLM::EngineCore").kill()
    assert loading.process.wait(30) == 1, loading.log
    assert "engine_core did not start" in loading.log
    assert_processes_end(loading, within_s=ORPHANS_WITHIN_S + IMPORT_S)


@pytest.mark.soak
def test_a_start_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    limits = {"start_timeout_s": 9.0}
    with killed_at_the_end(serve(tmp_path, server=limits, models=[CHAT])) as server:
        assert server.process.wait(60) == 1, server.log
        assert "the start failed" in server.log
        assert server.left_behind() == []


@pytest.mark.soak
def test_ctrl_c_in_a_terminal_is_for_the_server_alone(server: Server) -> None:
    """A terminal sends SIGINT to every process of the foreground group."""
    streams = Streams(server.url, 1, max_tokens=60)
    server.wait_for(lambda: streams.n_reading == 1)
    os.killpg(server.process.pid, signal.SIGINT)
    streams.join()
    ((_, done),) = streams.ends
    assert done == "[DONE]"
    assert not any("error" in line for end in streams.ends for line in end)
    assert server.process.wait(40) == 0, server.log
    assert "has died" not in server.log
    assert server.left_behind() == []


def test_sigkill_of_the_server_leaves_no_engine_behind(server: Server) -> None:
    assert len(server.children()) >= 2
    assert_orphans_end(server, within_s=ORPHANS_WITHIN_S)


@pytest.mark.soak
def test_sigkill_of_a_server_that_loads_leaves_no_engine_behind(
    loading: Server,
) -> None:
    assert_orphans_end(loading, within_s=ORPHANS_WITHIN_S + IMPORT_S)


def assert_orphans_end(server: Server, *, within_s: float) -> None:
    server.process.kill()
    server.process.wait()
    assert_processes_end(server, within_s=within_s)


def assert_processes_end(server: Server, *, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while server.children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.left_behind(within_s=0) == []
