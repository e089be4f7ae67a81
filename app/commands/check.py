"""``vllm-di check``: what can be known of a config file before a start."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from app.commands.options import (
    DEFAULT_CONFIG,
    add_settings_options,
    add_vllm_option,
    allow_vllm,
    load_settings,
)
from app.quiet import be_quiet

EXIT_OK = 0
EXIT_FAILED = 1


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser(
        "check",
        help="check all that a start needs, without loading weights",
    )
    add_settings_options(parser)
    add_vllm_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, and return the exit status: 0 if nothing is wrong, else 1."""
    from app.checks import Report, check_config

    allow_vllm(options)
    be_quiet(VLLM_LOGGING_LEVEL="CRITICAL")  # errors become lines of the report
    report = Report(sys.stdout)
    try:
        check_config(lambda: load_settings(options), _words(options), report)
    except KeyboardInterrupt:
        report.close("Interrupted: not everything was checked.")
        return EXIT_FAILED
    report.close()
    return EXIT_FAILED if report.has_failed else EXIT_OK


def _words(options: argparse.Namespace) -> str:
    return ", ".join(str(path) for path in options.config or [DEFAULT_CONFIG])
