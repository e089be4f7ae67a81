"""A server process over a double, whose settings come from a file."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path

from dependency_injector import providers

from app import create_app
from app.server import ServerProcess, listen
from app.service import STATE_ATTRIBUTE, Service
from containers import ModelContainer, Settings
from containers.file_version import file_versions
from containers.testing import FakeEngine


def prompt_of(request: object) -> str:
    return " ".join(map(str, request.prompt_token_ids))  # type: ignore[attr-defined]  # a recorded request


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # what the test reads


async def main(file: Path) -> int:
    files = file_versions([file])
    load = partial(Settings.load, file, environment={})
    settings = load()
    engines = providers.Callable(lambda: FakeEngine(prompt_of))
    with ModelContainer.engine.override(engines):
        app = create_app(settings, wait_until_ready=False)
        service: Service = getattr(app.state, STATE_ATTRIBUTE)
        service.load_settings, service.setting_files = load, files
        listener = listen(settings.server)
        _, port = listener.getsockname()
        process = ServerProcess(
            app,
            settings.server,
            on_ready=lambda: say(f"ready http://127.0.0.1:{port}"),
            on_failure=say,
        )
        return await process.run(listener)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
