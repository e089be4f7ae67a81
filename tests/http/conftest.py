"""Apps over the double, in process and behind a real socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from dependency_injector.containers import Container

from app import create_app
from app.server import Server, listen
from containers import ServerSettings
from containers.testing import FakeEngine


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine("Paris.")


@pytest.fixture
def container(new_container: Callable[[], Container], engine: FakeEngine) -> Container:
    made = new_container()
    made.engine.override(engine)
    return made


@pytest.fixture
async def client(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP client of an app whose lifespan runs."""
    app = create_app(container)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an app on a real socket from a thread of its own; gives its URL."""
    listener = listen(ServerSettings(port=0))
    server = Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(
        target=asyncio.run, args=(server.serve(sockets=[listener]),)
    )
    thread.start()
    try:
        host, port = listener.getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
