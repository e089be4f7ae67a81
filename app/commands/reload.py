"""``vllm-di reload``: let a running server read its settings anew."""

from __future__ import annotations

import argparse
import json
import os
import sys
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from app.same_host import asked

EXIT_OK = 0
EXIT_FAILED = 1
KEY_VARIABLE = "VLLM_DI_ADMIN_KEY"


def add_to(commands: Any) -> None:
    """Declare the command's options."""
    parser = commands.add_parser(
        "reload", help="let a running server read its settings anew"
    )
    parser.add_argument(
        "--url",
        type=http_url,
        default="http://127.0.0.1:8000",
        help="the server (default: %(default)s); the admin key is read from the "
        f"variable {KEY_VARIABLE}",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only tell what would be built anew and which engines would restart",
    )
    parser.add_argument(
        "--timeout-s",
        type=float,
        default=900.0,
        help="seconds to wait for a new engine (default: %(default)g)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask the server, print what it did, and return 0, or 1 if it did not."""
    url = f"{options.url}/admin/reload?dry_run={str(options.dry_run).lower()}"
    key = os.environ.get(KEY_VARIABLE, "")
    try:
        with asked(url, key=key, timeout_s=options.timeout_s, method="POST") as answer:
            print(json.dumps(json.load(answer), indent=1))
    except HTTPError as error:
        return _failed(_message(error.read(), str(error)))
    except (URLError, HTTPException, OSError, ValueError) as error:
        return _failed(f"{options.url} cannot be asked: {error}")
    return EXIT_OK


def _failed(reason: str) -> int:
    print(f"vllm-di: {reason}", file=sys.stderr)
    return EXIT_FAILED


def _message(body: bytes, otherwise: str) -> str:
    try:
        message: str = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return otherwise
    return message


def http_url(text: str) -> str:
    """An option's base URL of a server, without a slash at its end.

    Raises:
        argparse.ArgumentTypeError: It is no http address.
    """
    if urlsplit(text).scheme not in ("http", "https"):
        raise argparse.ArgumentTypeError(f"{text} is no http address")
    return text.rstrip("/")
