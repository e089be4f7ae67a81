"""The server process: what ends it, with which status, and what it leaves behind."""

from __future__ import annotations

import json
import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.engine.corpus.sample import FRANCE
from tests.engine.servers import CHAT, Server, serve

pytestmark = pytest.mark.engine

RUNNING = re.compile(r"^vllm:num_requests_running\{.*\} (\S+)$", re.MULTILINE)
SECONDS_TO_LEAVE = 20.0
"""Alone on two cores it is 3 to 7 s, of which vLLM gives its engine process 5."""
SECONDS_TO_IMPORT = 20.0
"""Alone 7 s. An import cannot be stopped, so a process ends once it is done."""


@contextmanager
def endless_request(url: str, *, stream: bool) -> Iterator[socket.socket]:
    """A generation under way for as long as the connection is open, and longer."""
    address = urlsplit(url)
    body = {
        "messages": FRANCE,
        "max_tokens": 1900,
        "ignore_eos": True,
        "stream": stream,
    }
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection(
        (address.hostname or "", address.port or 0)
    ) as client:
        client.sendall(head.encode() + content)
        seconds_until_running(url, 1, limit_s=30)
        yield client


def read_events(client: socket.socket) -> list[str]:
    """Data of the server-sent events of a response, read to its end."""
    with client.makefile("rb") as response:
        lines = response.read().decode().splitlines()
    return [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]


def seconds_until_running(url: str, count: int, *, limit_s: float) -> float:
    """Seconds until the engine runs that many requests."""
    with httpx.Client(base_url=url, timeout=limit_s) as client:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < limit_s:
            metrics = client.get("/metrics").text
            if sum(float(value) for value in RUNNING.findall(metrics)) == count:
                return passed
            time.sleep(0.05)
    pytest.fail(f"the engine never ran {count} requests within {limit_s} s")


@contextmanager
def started(server: Server) -> Iterator[Server]:
    """Ends the server, whatever the test has done."""
    try:
        yield server
    finally:
        server.kill()
        server.left_behind()


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_goes_away_aborts_its_generation_within_a_second(
    our_server: str, stream: bool
) -> None:
    with endless_request(our_server, stream=stream) as client:
        if stream:
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
    assert seconds_until_running(our_server, 0, limit_s=5) < 1
    answer = httpx.post(
        f"{our_server}/v1/completions",
        json={"prompt": "x", "max_tokens": 1},
        timeout=60,
    )
    assert answer.is_success


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where engines of this test bind their sockets; a path as short as may be."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("VLLM_RPC_BASE_PATH", folder)
        yield Path(folder)


def test_sigterm_while_serving_ends_the_stream_the_processes_and_the_port(
    tmp_path: Path, model_folder: str, sockets: Path
) -> None:
    with started(
        serve(tmp_path, server={"drain_timeout_s": 1}, models=[CHAT])
    ) as server:
        url = server.wait_until_ready()
        assert f"ready: {url}" in server.log
        assert any(each.is_socket() for each in sockets.rglob("*"))
        with endless_request(url, stream=True) as client:
            began = time.monotonic()
            assert server.stop() == 0, server.log
            assert time.monotonic() - began < 1 + SECONDS_TO_LEAVE
            *_, last, done = read_events(client)
        assert server.left_behind() == []
        assert list(sockets.iterdir()) == []
        socket.create_server(("127.0.0.1", urlsplit(url).port or 0)).close()
        assert "Traceback" not in server.log
    assert json.loads(last)["error"]["code"] == 503
    assert done == "[DONE]"


def imports_vllm(server: Server) -> bool:
    return server.health() == httpx.codes.SERVICE_UNAVAILABLE


def starts_its_engine(server: Server) -> bool:
    return any("VLLM::" in " ".join(each.cmdline()) for each in server.children())


@pytest.mark.parametrize(
    "moment",
    [imports_vllm, pytest.param(starts_its_engine, marks=pytest.mark.soak)],
)
def test_sigterm_while_loading_ends_every_process_soon(
    moment: Callable[[Server], bool], tmp_path: Path, model_folder: str
) -> None:
    with started(serve(tmp_path, models=[CHAT])) as server:
        server.wait_for(lambda: moment(server))
        began = time.monotonic()
        assert server.stop() == 0, server.log
        assert time.monotonic() - began < SECONDS_TO_IMPORT + SECONDS_TO_LEAVE
        assert server.left_behind() == []
        assert "ready: http" not in server.log
        engine = ('"process": "Worker', '"process": "EngineCore')
        own = [x for x in server.log.splitlines() if not any(e in x for e in engine)]
        # An engine's process that begins just then finds no form for its lines.
        is_formless = "Could not load logging config" in server.log
        assert is_formless or "Traceback" not in "".join(own)


def test_a_taken_port_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(serve(tmp_path, port=port, models=[CHAT])) as server:
            assert server.process.wait(SECONDS_TO_LEAVE) == 2, server.log
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in server.log
    assert "starting" not in server.log
    assert "Traceback" not in server.log


def test_an_unknown_key_is_told_with_the_nearest_one(tmp_path: Path) -> None:
    with started(serve(tmp_path, modells=[])) as server:
        assert server.process.wait(SECONDS_TO_LEAVE) == 2, server.log
    assert "modells" in server.log
    assert "models" in server.log.replace("modells", "")
    assert "Traceback" not in server.log
