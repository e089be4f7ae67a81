"""Options and settings of the process that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_LOGS": "-all",  # errors only
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore::FutureWarning,ignore::DeprecationWarning",
}
"""Environment of a quiet start; what is set already stays as it is."""


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--config``, which every command about a config file has."""
    parser.add_argument(
        "--config",
        type=Path,
        default=Path("config.yaml"),
        metavar="PATH",
        help="the settings (default: %(default)s)",
    )


def file_to_write(text: str) -> Path:
    """Path of an option that names a file to be written later.

    Raises:
        argparse.ArgumentTypeError: Its folder is not there, or it is a folder.
    """
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a file in an existing folder")
    return path


def be_quiet(**levels: str) -> None:
    """Let vLLM and torch log errors only, unless the environment asks for more.

    Counts for a vLLM that is imported later, here or in a child process.

    Args:
        levels: Environment variables to set otherwise than :data:`QUIET`.
    """
    for name, value in {**QUIET, **levels}.items():
        os.environ.setdefault(name, value)
