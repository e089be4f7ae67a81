"""``vllm-di serve``: serve the models of a config file until a signal comes."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from app.commands.options import (
    add_settings_options,
    add_vllm_option,
    allow_vllm,
    file_to_write,
    load_settings,
    setting_files,
)
from app.frontends.checks import refuse_by_environment
from app.logs import logs
from app.quiet import be_quiet
from containers.vllm_api import release_line
from containers.vllm_api.engine_processes import EngineProcesses


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser("serve", help="serve the models of a config file")
    add_settings_options(parser)
    add_vllm_option(parser)
    parser.add_argument(
        "--timings",
        type=file_to_write,
        metavar="FILE",
        help="once ready, write the seconds each resource took, for vllm-di graph",
    )
    parser.add_argument(
        "--ray",
        action="store_true",
        help="serve with Ray Serve: a deployment for each model, and one before them",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve, and return the exit status: 0 after a healthy stop, else 1.

    Raises:
        SettingsError: The settings are wrong or the address is taken; nothing started.
        VllmMismatchError: vLLM is not installed or not supported; nothing started.
    """
    allow_vllm(options)
    if options.ray:
        return _serve_with_ray(options)
    files = setting_files(options)
    settings = load_settings(options)
    refuse_by_environment(settings.server)
    line = release_line()
    with logs(settings.server.logs, settings.models) as log_format:
        be_quiet()
        processes = EngineProcesses(fast_start=settings.performance.fast_start)
        with processes.held():  # it imports vLLM meanwhile
            from app.heap import collect_seldom

            collect_seldom()
            from app.commands.serving import serve

            return serve(settings, options, files, line, is_logged=log_format == "json")


def _serve_with_ray(options: argparse.Namespace) -> int:
    import asyncio

    from app.ray.process import RayProcess

    process = RayProcess(partial(load_settings, options), setting_files(options))
    return asyncio.run(process.run())
