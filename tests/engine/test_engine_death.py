"""Real processes killed with SIGKILL: what clients see, what is left, how it ends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.engine.servers import Server, serve

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("model_folder")]

N_STREAMS = 8
TRUTH_WITHIN_S = 5.0
ORPHANS_WITHIN_S = 10.0

STORY = {
    "model": "smollm2",
    "messages": [{"role": "user", "content": "Tell me a very long story."}],
    "stream": True,
    "ignore_eos": True,
    "max_tokens": 1900,
}


class Streams:
    """Clients reading long answers, each in a thread of its own."""

    def __init__(self, url: str, n: int) -> None:
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
        with httpx.stream("POST", url, json=STORY, timeout=60) as response:
            assert response.status_code == 200
            lines: list[str] = []
            for line in response.iter_lines():
                if line and not lines:
                    self.n_reading += 1
                if line:
                    lines.append(line.removeprefix("data: "))
        self.ends.append(lines[-2:])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = serve(tmp_path)
    try:
        started.wait_until_ready()
        yield started
    finally:
        started.kill()
        started.left_behind()


def engine_process(server: Server, name: str) -> psutil.Process:
    (found,) = [each for each in server.children() if name in " ".join(each.cmdline())]
    return found


def assert_openai_error(event: str) -> None:
    error: dict[str, Any] = json.loads(event)["error"]
    assert error["code"] >= 500
    assert error["message"]


@pytest.mark.parametrize("victim", ["VLLM::EngineCore", "VLLM::Worker"])
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


def test_sigkill_of_the_server_leaves_no_engine_behind(server: Server) -> None:
    assert len(server.children()) >= 2
    server.process.kill()
    server.process.wait()
    deadline = time.monotonic() + ORPHANS_WITHIN_S
    while server.children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.children() == []
