"""A server of several front ends, each over a double, its settings from a file."""

from __future__ import annotations

import asyncio
import os
import sys
from functools import partial
from pathlib import Path

from dependency_injector import providers
from dependency_injector.containers import Container

from app import create_app
from app.frontends.listeners import listen_together
from app.frontends.process import OwnerProcess
from app.http_config import curl_address
from app.service import STATE_ATTRIBUTE, Service
from containers import Settings
from containers.application import ApplicationContainer
from containers.file_version import file_versions
from containers.testing import FakeEngine

TOKEN_S = 0.02


def prompt_of(request: object) -> str:
    return " ".join(map(str, request.prompt_token_ids))  # type: ignore[attr-defined]  # a recorded request


class Engine(FakeEngine):
    """A double that says when it is to forget what it has read."""

    async def reset_mm_cache(self) -> None:
        """Say so."""
        say(f"process {os.getpid()} forgets")


def application(settings: Settings) -> Container:
    """An application whose engine is a double."""
    made = ApplicationContainer(settings=settings)
    (model,) = made.models().values()
    engines = providers.Callable(lambda: Engine(prompt_of, delay_s=TOKEN_S))
    model.engine.override(engines)
    return made


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # what the test reads


async def main(file: Path) -> int:
    files = file_versions([file])
    load = partial(Settings.load, file, environment={})
    settings = load()
    app = create_app(application(settings), wait_until_ready=False)
    service: Service = getattr(app.state, STATE_ATTRIBUTE)
    service.load_settings, service.setting_files = load, files
    listeners = listen_together(settings.server)
    url = curl_address(settings.server, listeners[0].getsockname())
    process = OwnerProcess(
        app,
        settings.server,
        listeners,
        on_ready=lambda: say(f"ready {url}"),
        on_failure=say,
        made_by="tests.http.frontend_program:application",
    )
    return await process.run(listeners[0])


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
