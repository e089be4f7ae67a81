"""``vllm-di serve``: serve the model of a config file until a signal comes."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from app.commands.options import (
    add_settings_options,
    be_quiet,
    file_to_write,
    load_settings,
)
from app.http_config import curl_address
from app.main import create_app
from app.progress import StartProgress, start_progress
from app.server import ServerProcess, listen
from app.timings import save_timings
from containers.application import ApplicationContainer
from containers.settings import Settings
from containers.vllm_api import release_line
from containers.vllm_api.orphans import orphaned_engines


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser("serve", help="serve the model of a config file")
    add_settings_options(parser)
    parser.add_argument(
        "--timings",
        type=file_to_write,
        metavar="FILE",
        help="once ready, write the seconds each resource took, for vllm-di graph",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve, and return the exit status: 0 after a healthy stop, else 1.

    Raises:
        SettingsError: The settings are wrong or the address is taken; nothing started.
        VllmMismatchError: vLLM is not installed or not supported; nothing started.
    """
    settings = load_settings(options)
    release_line()
    be_quiet()
    application = ApplicationContainer(settings=settings)
    app = create_app(application, wait_until_ready=False)
    listener = listen(settings.server)
    (model,) = application.models().values()
    with listener, start_progress(model) as progress:
        for pid in orphaned_engines():
            progress.say(
                f"process {pid} looks like an engine whose server was killed; it still "
                f"holds its memory: kill {pid}"
            )
        progress.say(f"starting {settings.models[0].name}")

        def on_ready() -> None:
            announce(progress, settings, listener.getsockname())
            if options.timings is not None:
                save_timings(options.timings, application.models(), progress.say)

        process = ServerProcess(
            app,
            settings.server,
            on_ready=on_ready,
            on_failure=progress.say,
        )
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(process.run(listener))


def announce(progress: StartProgress, settings: Settings, address: Any) -> None:
    """Say that the model is ready, where, and how to ask it something."""
    progress.end()
    url = curl_address(settings.server, address)
    question = {
        "model": settings.models[0].name,
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "temperature": 0,
    }
    key = " -H 'Authorization: Bearer YOUR_KEY'" if settings.server.api_keys else ""
    progress.say(f"ready: {url}")
    print(
        f"\nTry it:\n  curl {url}/v1/chat/completions"
        f"{key} -H 'Content-Type: application/json' -d '{json.dumps(question)}'\n",
        file=sys.stderr,
        flush=True,
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
