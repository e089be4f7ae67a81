"""Tool servers, which the Responses API may call."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from containers import vllm_api
from containers.errors import SettingsError


async def connect(tool_server: str) -> Any:
    """Connect to tool servers.

    Args:
        tool_server: As ``vllm serve --tool-server`` takes it.

    Returns:
        vLLM's tool server.

    Raises:
        SettingsError: One cannot be reached, or a package it needs is missing.

    Source:
        vllm/entrypoints/mcp/tool_server.py ``init_tool_server`` (0.32.0).
    """
    try:
        return await vllm_api.init_tool_server(Namespace(tool_server=tool_server))
    except Exception as error:
        raise SettingsError(
            key="chat.tool_server",
            reason=f"{tool_server} cannot be used: {error!r}",
            hint="Start it first, or leave the key out.",
        ) from error
