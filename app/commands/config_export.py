"""``vllm-di config export``: settings as a command line of ``vllm serve``."""

from __future__ import annotations

import argparse
from typing import Any

from app.commands.options import add_model_option, add_settings_options, load_settings
from app.commands.telling import tell, tell_of_the_import
from app.quiet import be_quiet

EXIT_OK = 0


def add_to(actions: Any) -> None:
    """Declare the command's options."""
    parser = actions.add_parser(
        "export", help="print the vllm serve command that is equal to the settings"
    )
    add_settings_options(parser)
    add_model_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the command, report what differs on the error stream, and return 0.

    Raises:
        SettingsError: The settings are wrong, or have no such model.
    """
    from containers.settings.migration import exported

    settings = load_settings(options)
    be_quiet()
    tell_of_the_import()
    found = exported(settings, options.model)
    tell(*(f"the command reads the variable {name}" for name in found.variables))
    tell(*found.notes)
    print(found.text)
    return EXIT_OK
