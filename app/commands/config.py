"""``vllm-di config``: look at settings, and at what settings there are."""

from __future__ import annotations

from typing import Any

from app.commands import config_schema, config_show


def add_to(commands: Any) -> None:
    """Declare the command and its own commands."""
    parser = commands.add_parser(
        "config", help="show the settings and where they come from, or their schema"
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for action in (config_show, config_schema):
        action.add_to(actions)
