"""What ``vllm-di serve`` does once its engines' processes begin to import vLLM.

Importing this takes the better half of a second, which goes by beside that.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from app.commands.options import load_settings
from app.event_loop import loop_factory
from app.first_questions import curl_lines
from app.frontends.listeners import listen_together
from app.http_config import curl_address
from app.main import create_app
from app.progress import StartProgress, start_progress
from app.server import ServerProcess, listen
from app.service import STATE_ATTRIBUTE, Service
from app.timings import save_timings
from containers.application import ApplicationContainer
from containers.file_version import FileVersions
from containers.registry import ServedModel
from containers.settings import ServerSettings, Settings
from containers.vllm_api import installed_version, is_supported
from containers.vllm_api.orphans import orphaned_engines

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    settings: Settings,
    options: argparse.Namespace,
    files: FileVersions,
    line: str,
    *,
    is_logged: bool,
) -> int:
    """Serve until a signal comes, and return the exit status.

    Args:
        settings: What to serve.
        options: The command's, from which the settings are read anew at a reload.
        files: The files they were read from.
        line: Release line vLLM is taken for.
        is_logged: Whether progress is told in lines of the log.

    Raises:
        SettingsError: The address is taken; no engine was started.
    """
    application = ApplicationContainer(settings=settings)
    app = create_app(application, wait_until_ready=False)
    service: Service = getattr(app.state, STATE_ATTRIBUTE)
    service.load_settings = partial(load_settings, options)
    service.setting_files = files
    listeners = _listeners(settings.server)
    listener = listeners[0]
    models = application.models()
    with (
        service.secrets.masked(),
        _closing(listeners),
        start_progress(models, is_logged=is_logged) as progress,
    ):
        for pid in orphaned_engines():
            progress.say(
                f"process {pid} looks like an engine whose server was killed; it still "
                f"holds its memory: kill {pid}"
            )
        if not is_supported():
            progress.say(
                f"vLLM {installed_version()} is not supported: trying it as vLLM {line}"
            )
        progress.say(f"starting {', '.join(model.name for model in settings.models)}")

        def on_ready() -> None:
            models = [each for each in application.registry() if each.is_able]
            tasks = {each.name: _tasks_of(each) for each in models}
            announce(progress, settings.server, listener.getsockname(), tasks)
            if options.timings is not None:
                save_timings(options.timings, application.models(), progress.say)

        if len(listeners) == 1:
            process = ServerProcess(
                app, settings.server, on_ready=on_ready, on_failure=progress.say
            )
        else:
            from app.frontends.process import OwnerProcess

            process = OwnerProcess(
                app,
                settings.server,
                listeners,
                on_ready=on_ready,
                on_failure=progress.say,
            )
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(process.run(listener))


def _listeners(server: ServerSettings) -> list[socket.socket]:
    """A listening socket for each front end."""
    return [listen(server)] if server.frontends == 1 else listen_together(server)


@contextmanager
def _closing(listeners: Sequence[socket.socket]) -> Iterator[None]:
    with ExitStack() as stack:
        for each in listeners:
            stack.enter_context(each)
        yield


def announce(
    progress: StartProgress,
    server: ServerSettings,
    address: Any,
    tasks: Mapping[str, Sequence[str]],
) -> None:
    """Say where the models are ready, and how to ask each of them something.

    Args:
        progress: Told that the start is over.
        server: Server settings.
        address: The address that is listened on.
        tasks: What each model that is ready can do, by its name.
    """
    progress.end()
    url = curl_address(server, address)
    progress.say(f"ready: {url}")
    if server.ui:
        progress.say(f"status page: {url}/ui{_warning(server)}")
    lines = curl_lines(url, tasks, wants_key=server.wants_key)
    progress.show("", "Try it:", *(f"  {line}" for line in lines), "")


def _warning(server: ServerSettings) -> str:
    """Who sees the status page, if that is not only who is on this machine."""
    if server.has_admin_keys or server.uds or server.host in LOOPBACK:
        return ""
    return ", for everybody who reaches this port: set server.admin_keys"


def _tasks_of(model: ServedModel) -> Sequence[str]:
    """What a model can do; of one that is loaded later, what its settings suggest."""
    if model.is_ready:
        tasks: Sequence[str] = model.loaded.supported_tasks
        return tasks
    is_pooling = model.settings.engine.get("runner") == "pooling"
    return ("embed",) if is_pooling else ("generate",)
