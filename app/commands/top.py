"""``vllm-di top``: how a running server stands, live in a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from app.commands.reload import KEY_VARIABLE, http_url
from app.top.source import Follower, NotToldError, Source

EXIT_OK = 0
EXIT_FAILED = 1
INTERVAL_S = 1.0
WIDTH = 120
"""Columns of what is no terminal."""


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser(
        "top", help="show how a running server stands, live in a terminal"
    )
    parser.add_argument(
        "--url",
        type=http_url,
        default="http://127.0.0.1:8000",
        help="the server (default: %(default)s)",
    )
    parser.add_argument(
        "--key-env",
        default=KEY_VARIABLE,
        metavar="NAME",
        help="the variable the admin key is read from (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show the server until ``q`` or Ctrl-C, or once if this is no terminal.

    Returns:
        0; 1 if it is to be shown once and does not tell how it stands.
    """
    key = os.environ.get(options.key_env, "").strip()
    source = Source(options.url, key, options.key_env)
    if not sys.stdout.isatty():
        return _show_once(source)
    from rich.console import Console

    from app.top.screen import watch

    follower = Follower(source, interval_s=INTERVAL_S)
    follower.start()
    try:
        watch(follower, options.url, Console())
    except KeyboardInterrupt:
        pass
    finally:
        follower.stop()
    return EXIT_OK


def _show_once(source: Source) -> int:
    from rich.console import Console

    from app.top.picture import whole

    try:
        status = source.ask()
    except NotToldError as error:
        print(f"vllm-di: {source.url}: {error}", file=sys.stderr)
        return EXIT_FAILED
    console = Console(color_system=None, width=WIDTH, highlight=False)
    console.print(whole(status))
    return EXIT_OK
