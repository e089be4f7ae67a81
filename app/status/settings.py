"""The settings in force, each value with where it came from."""

from __future__ import annotations

import asyncio
from typing import Any

from app.service import Service
from containers.settings import Settings
from containers.settings.show import shown_lines

MADE_IN_PYTHON = "Python"


async def settings_content(service: Service) -> dict[str, Any]:
    """What ``vllm-di config show`` prints, line by line, as JSON has it.

    Where each value came from is not known of settings that were made in Python.
    """
    settings: Settings = service.container.settings()
    is_read = service.load_settings is not None
    lines = await asyncio.to_thread(shown_lines, settings)
    return {
        "lines": [
            {
                "text": line.text,
                "origin": line.comment
                if is_read or not line.comment
                else MADE_IN_PYTHON,
            }
            for line in lines
        ]
    }
