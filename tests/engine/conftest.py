"""Servers with a real engine, each started once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from containers.source import model_folder as find_model_folder
from tests.engine.corpus.sample import TIMEOUT_S
from tests.engine.servers import CHAT, MODELS, POOLING, Server, serve, serve_stock


@pytest.fixture(scope="session")
def model_folder() -> str:
    """The bundled chat model, unpacked into the user's cache."""
    return find_model_folder(CHAT["source"])


@pytest.fixture(scope="session")
def our_server(
    request: pytest.FixtureRequest,
    model_folder: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Base URL of ``vllm-di serve`` with the models of ``config.yaml``.

    In the end it must stop cleanly on SIGTERM.
    """
    server = serve(tmp_path_factory.mktemp("ours"))
    try:
        if _anybody_wants("stock", request.session):
            request.getfixturevalue("stock_processes")  # all start at once
        yield server.wait_until_ready()
        assert server.stop() == 0, server.log
    finally:
        server.kill()
        left = server.left_behind()
    assert not left


@pytest.fixture(scope="session")
def stock_processes(
    model_folder: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    """vLLM's own servers of the same models, perhaps still loading."""
    folders = [model_folder, find_model_folder(POOLING["source"])]
    servers = [
        serve_stock(tmp_path_factory.mktemp("stock"), folder, model)
        for folder, model in zip(folders, MODELS, strict=True)
    ]
    with ExitStack() as ends:  # all of them, whatever one of them raises
        for server in servers:
            ends.callback(server.left_behind)
            ends.callback(server.stop)
        yield servers


@pytest.fixture(scope="session")
def ours(our_server: str) -> Iterator[httpx.Client]:
    """HTTP client of our server."""
    with httpx.Client(base_url=our_server, timeout=TIMEOUT_S) as client:
        yield client


@pytest.fixture(scope="session")
def stock(our_server: str, stock_processes: list[Server]) -> Iterator[httpx.Client]:
    """HTTP client of vLLM's own server of the chat model."""
    url = stock_processes[0].wait_until_ready()
    with httpx.Client(base_url=url, timeout=TIMEOUT_S) as client:
        yield client


@pytest.fixture(scope="session")
def stock_pooling(
    our_server: str, stock_processes: list[Server]
) -> Iterator[httpx.Client]:
    """HTTP client of vLLM's own server of the pooling model."""
    url = stock_processes[1].wait_until_ready()
    with httpx.Client(base_url=url, timeout=TIMEOUT_S) as client:
        yield client


def _anybody_wants(fixture: str, session: pytest.Session) -> bool:
    return any(fixture in getattr(item, "fixturenames", ()) for item in session.items)
