"""Options and settings of the process that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from containers.settings import Settings
from containers.settings.env_file import read_env_file

QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_LOGS": "-all",  # errors only
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore::FutureWarning,ignore::DeprecationWarning",
}
"""Environment of a quiet start; what is set already stays as it is."""

DEFAULT_CONFIG = Path("config.yaml")


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Declare ``--config``, ``--env-file`` and ``--set``: what settings are made of."""
    parser.add_argument(
        "--config",
        type=Path,
        action="append",
        metavar="PATH",
        help="the settings; given again, a later file wins key by key"
        " (default: config.yaml)",
    )
    parser.add_argument(
        "--env-file",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="read variables from NAME=value lines; those that are set already stay",
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set one key, over files and environment, such as server.port=8080",
    )


def load_settings(options: argparse.Namespace) -> Settings:
    """Settings that these options name.

    Variables of ``--env-file`` are put into the process' environment, for vLLM too.

    Raises:
        SettingsError: Something in them is wrong; nothing was started.
    """
    for path in reversed(options.env_file):
        for name, value in read_env_file(path).items():
            os.environ.setdefault(name, value)
    paths = options.config or [DEFAULT_CONFIG]
    return Settings.load(*paths, overrides=options.overrides)


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
