"""``vllm-di config``: settings shown, described, and made of vLLM's and back."""

from __future__ import annotations

from typing import Any

from app.commands import config_export, config_import, config_schema, config_show


def add_to(commands: Any) -> None:
    """Declare the command and its own commands."""
    parser = commands.add_parser(
        "config", help="show, describe, import or export the settings"
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action in (config_show, config_schema, config_import, config_export):
        action.add_to(actions)
