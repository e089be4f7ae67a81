"""``vllm-di config export``: settings as a command line of ``vllm serve``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from app.commands.config_import import WAITING
from app.commands.options import add_settings_options, be_quiet, load_settings

EXIT_OK = 0


def add_to(actions: Any) -> None:
    """Declare the command's options."""
    parser = actions.add_parser(
        "export", help="print the vllm serve command that is equal to the settings"
    )
    add_settings_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the command, report what differs on the error stream, and return 0.

    Raises:
        SettingsError: The settings are wrong.
    """
    from containers.settings.migration import exported

    settings = load_settings(options)
    be_quiet()
    print(WAITING, file=sys.stderr)
    found = exported(settings)
    for name in found.variables:
        print(f"vllm-di: the command reads the variable {name}", file=sys.stderr)
    for note in found.notes:
        print(f"vllm-di: {note}", file=sys.stderr)
    print(found.text)
    return EXIT_OK
