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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the schema and return 0."""
    del options
    print(schema_text(), end="")
    return EXIT_OK


def schema_text() -> str:
    """The schema as it is printed, and kept in ``docs/config.schema.json``."""
    from containers.settings.schema import json_schema

    return f"{json.dumps(json_schema(), indent=1)}\n"
