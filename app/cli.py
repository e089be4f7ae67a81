"""The ``vllm-di`` command."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from app.commands import check, config, graph, reload, serve, top
from containers.errors import ServingError, SettingsError
from containers.version import __version__
from containers.vllm_api import installed_version

EXIT_FAILED = 1
EXIT_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    0 after a healthy end, 1 when it failed, 2 when the command line or the settings
    are wrong.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    try:
        status: int = options.run(options)
    except SettingsError as error:
        print(f"vllm-di: {error}", file=sys.stderr)
        return EXIT_USAGE
    except ServingError as error:
        print(f"vllm-di: {error}", file=sys.stderr)
        return EXIT_FAILED
    except BrokenPipeError:  # as in `vllm-di config schema | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vllm-di",
        description="Serve vLLM's OpenAI API from a dependency-injection container.",
    )
    version = f"vllm-di {__version__} (vLLM {installed_version() or 'not installed'})"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (serve, check, graph, reload, top, config):
        command.add_to(commands)
    return parser
