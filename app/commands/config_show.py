"""``vllm-di config show``: every setting, and where it came from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from app.commands.options import add_settings_options, load_settings
from app.quiet import be_quiet
from containers.settings import Settings

if TYPE_CHECKING:
    from containers.settings.show import Effective

EXIT_OK = 0


def add_to(actions: Any) -> None:
    """Declare the command's options."""
    parser = actions.add_parser(
        "show", help="print every setting with where it came from, secrets masked"
    )
    add_settings_options(parser)
    parser.add_argument(
        "--effective",
        action="store_true",
        help="add what vLLM makes of the engine arguments; imports vLLM",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the settings and return 0.

    Raises:
        SettingsError: The settings are wrong.
        StartError: vLLM refuses the engine arguments; only with ``--effective``.
    """
    import asyncio

    from containers.settings.show import shown

    settings = load_settings(options)
    effective: list[Effective] = []
    if options.effective:
        be_quiet()
        effective = asyncio.run(_effective(settings))
    print(shown(settings, effective))
    return EXIT_OK


async def _effective(settings: Settings) -> list[Effective]:
    from containers.application import ApplicationContainer
    from containers.lifecycle import running
    from containers.vllm_api.effective import effective_arguments

    found: list[Effective] = []
    for container in ApplicationContainer(settings=settings).models().values():
        async with running(container, "vllm_config") as model:
            found.append(effective_arguments(model.vllm_config))
    return found
