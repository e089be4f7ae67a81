"""Options and settings of the process that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from containers.file_version import FileVersions, file_versions
from containers.settings import Settings
from containers.settings.env_file import read_env_files
from containers.vllm_api.release import ALLOW_UNSUPPORTED

DEFAULT_CONFIG = Path("config.yaml")


def add_settings_options(
    parser: argparse.ArgumentParser, *, default: str = str(DEFAULT_CONFIG)
) -> None:
    """Declare ``--config``, ``--env-file`` and ``--set``: what settings are made of.

    Args:
        parser: Where to declare them.
        default: What the command takes without any of them, for its help.
    """
    parser.add_argument(
        "--config",
        type=Path,
        action="append",
        metavar="PATH",
        help="the settings; given again, a later file wins key by key"
        f" (default: {default})",
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


def add_vllm_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--allow-unsupported-vllm``."""
    parser.add_argument(
        "--allow-unsupported-vllm",
        action="store_true",
        help="try a vLLM that is not supported, as if it were the newest one that is",
    )


def allow_vllm(options: argparse.Namespace) -> None:
    """Let the processes started here use any vLLM, if the options say so."""
    if options.allow_unsupported_vllm:
        os.environ[ALLOW_UNSUPPORTED] = "1"


def add_model_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--model``: one of several, by any of its names."""
    parser.add_argument(
        "--model", metavar="NAME", help="which of the models (default: the first)"
    )


def load_settings(options: argparse.Namespace) -> Settings:
    """Settings that these options name; asked again, what their files say by then.

    Variables of ``--env-file`` are put into the process' environment too, for vLLM, the
    first time.

    Raises:
        SettingsError: Something in them is wrong; nothing was started.
    """
    told = read_env_files(options.env_file)
    if not hasattr(options, "own_environment"):
        options.own_environment = dict(os.environ)
        os.environ.update(told | options.own_environment)
    return Settings.load(
        *(options.config or [DEFAULT_CONFIG]),
        overrides=options.overrides,
        environment=told | options.own_environment,
    )


def setting_files(options: argparse.Namespace) -> FileVersions:
    """The files that :func:`load_settings` reads, and their versions before it does."""
    files = [*(options.config or [DEFAULT_CONFIG]), *options.env_file]
    return file_versions(map(Path, files))


def file_to_write(text: str) -> Path:
    """Path of an option that names a file to be written later.

    Raises:
        argparse.ArgumentTypeError: Its folder is not there, or it is a folder.
    """
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a file in an existing folder")
    return path
