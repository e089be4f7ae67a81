"""``vllm-di config schema``: what a config file may hold, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any

EXIT_OK = 0


def add_to(actions: Any) -> None:
    """Declare the command's options."""
    parser = actions.add_parser(
        "schema", help="print the JSON Schema of config.yaml, for the installed vLLM"
    )
    parser.add_argument(
        "--overlay",
        action="store_true",
        help="the schema of a file over others, which needs only the keys it changes",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the schema and return 0."""
    print(schema_text(is_overlay=options.overlay), end="")
    return EXIT_OK


def schema_text(*, is_overlay: bool = False) -> str:
    """The schema as it is printed; ``docs/config.schema.json`` is the default one."""
    from containers.settings.schema import json_schema

    return f"{json.dumps(json_schema(is_overlay=is_overlay), indent=1)}\n"
