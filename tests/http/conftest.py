"""Apps over the double: the kit's fixtures in process, and a real socket.

A test whose subject is a lifespan, a thread or a socket takes ``serving_container`` and
runs its app by itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from dependency_injector import providers
from dependency_injector.containers import Container
from fastapi import FastAPI

from app import create_app
from app.server import Server, listen
from containers import ApplicationContainer, ModelSettings, ServerSettings, Settings
from tests.conftest import tiny_settings


@pytest.fixture(scope="session")
def serving_settings(tiny_folder: Path) -> ModelSettings:
    """Settings of a tiny model whose prompts may not be long."""
    return tiny_settings(tiny_folder)


def app_of(container: Container, **server: Any) -> FastAPI:
    """An app that serves a model's container with these server settings."""
    model = container.settings()
    settings = Settings.model_validate(
        {"server": server, "models": [model.model_dump()]}
    )
    models = providers.Object({model.name: container})
    return create_app(ApplicationContainer(settings=settings, models=models))


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
