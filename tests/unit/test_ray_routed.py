"""Waiting until Ray's proxy passes requests on, over a server that tells its routes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from app.ray import process
from app.ray.process import RayProcess
from app.ray.routed import trouble_of_route
from containers import Settings
from tests.engine.servers import free_port

OTHER, OURS = {"/": "another"}, {"/": "another", "/llm": "ours"}


class Proxy(HTTPServer):
    """A proxy that tells each of its states once, and the last one from then on."""

    def __init__(self, *states: tuple[int, Any], port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.states = [*states]
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:  # http.server's name
        self.server.asked.append(self.path)
        states = self.server.states
        status, content = states.pop(0) if len(states) > 1 else states[0]
        body = json.dumps(content).encode() if content is not None else b"<html>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def proxy(*states: tuple[int, Any], port: int = 0) -> Iterator[Proxy]:
    with Proxy(*states, port=port) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


async def trouble(port: int, timeout_s: float) -> str:
    address = "127.0.0.1", port
    return await trouble_of_route(address, "ours", "/llm", timeout_s=timeout_s)


async def test_it_waits_until_the_proxy_knows_the_route() -> None:
    states = [(503, "Route table is not populated yet."), (200, {}), (200, OTHER)]
    with proxy(*states, (500, None), (200, OURS)) as asked:
        assert await trouble(asked.server_port, 30) == ""
    assert asked.asked == ["/-/routes"] * 5


async def test_no_proxy_that_the_environment_names_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with proxy((200, OURS)) as asked:
        assert await trouble(asked.server_port, 1) == ""


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ((200, OTHER), "its routes are {'/': 'another'}"),
        ((200, {"/llm": "another"}), "its routes are {'/llm': 'another'}"),
        ((503, "not yet"), "its routes are not yet"),
        ((500, None), "it does not tell its routes: JSONDecodeError"),
    ],
)
async def test_what_never_comes_is_told_with_what_the_proxy_says(
    state: tuple[int, Any], told: str
) -> None:
    with proxy(state) as asked:
        began = time.monotonic()
        assert (await trouble(asked.server_port, 0.2)).startswith(told)
        assert 0.2 <= time.monotonic() - began < 5
    assert len(asked.asked) > 1


async def test_a_proxy_that_is_not_there_is_told_too() -> None:
    assert "ConnectionRefusedError" in await trouble(free_port(), 0.1)


@pytest.mark.parametrize("is_routed", [True, False])
async def test_an_application_serves_when_the_proxy_of_its_cluster_knows_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_routed: bool,
) -> None:
    async def deployed(*_: object, **__: object) -> str:
        return ""

    monkeypatch.setattr(process, "trouble_of_deployment", deployed)
    monkeypatch.setattr(process, "application_of", lambda _: None)
    monkeypatch.setattr(process, "ROUTED_TIMEOUT_S", 30 if is_routed else 0.1)
    port = free_port()
    settings = Settings.model_validate(
        {
            "server": {"port": port},
            "ray": {"application": "ours", "route_prefix": "/llm"},
            "models": [{"name": "tiny", "source": "/nowhere"}],
        }
    )
    made = RayProcess(lambda: settings, [])
    assert await made._deploy(None)  # somebody else's cluster is not asked
    made._is_local = True
    with proxy((200, OTHER), (200, OURS if is_routed else OTHER), port=port):
        assert await made._deploy(None) is is_routed
    said = capsys.readouterr().err
    assert ("its routes are {'/': 'another'}. See logs/serve" in said) is not is_routed
