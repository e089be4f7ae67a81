"""An option's value there, and the value of its key here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from containers.settings.conversion import UnfitError, converted
from containers.settings.engine import SHARED_WITH_CHAT
from containers.settings.frontend import frontend_arguments
from containers.settings.options import ENGINE_ELSEWHERE, FRONT_END, Option
from containers.settings.server import ApiKey
from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.fitting import misfits

OPTIONS: Mapping[str, Option] = {
    option.name: option for option in [*FRONT_END, *ENGINE_ELSEWHERE]
}

DEFAULTS_THERE: Mapping[str, tuple[Any, str]] = {
    "server.host": ("0.0.0.0", "vLLM's default, every network; ours is 127.0.0.1"),  # noqa: S104  # vLLM's
    "server.uvicorn_log_level": ("info", "vLLM's default; ours is warning"),
    "server.drain_timeout_s": (0, "vLLM's default, none; ours is 30"),
}
"""Keys whose default differs from vLLM's: that, with a remark."""


def option_of(name: str) -> Option:
    """Where an option of this name is set here."""
    if name in SHARED_WITH_CHAT:
        return Option(name, f"models[].chat.{name}")
    if name in OPTIONS:
        return OPTIONS[name]
    if name in frontend_arguments():
        return Option(name, f"models[].chat.frontend.{name}")
    return Option(name, f"models[].engine.{name}")


def value_here(name: str, value: Any) -> Any:
    """The value of an option as its key takes it; ``None`` if it is unset."""
    if name == "disable_access_log_for_endpoints":
        return [each.strip() for each in (value or "").split(",") if each.strip()]
    if name == "lora_modules":
        return [
            {key: each for key, each in module.items() if each}
            for module in value or ()
        ]
    if name in {"tool_parser_plugin", "root_path"}:
        return value or None
    kind = (engine_arguments() or {}).get(name)
    if isinstance(value, str) and kind is not None and [*misfits(kind, value, ())]:
        try:
            return converted(value, kind)
        except UnfitError:
            return value  # the settings say what is wrong with it
    return value


def value_there(name: str, value: Any) -> Any:
    """The value of a key here as its option takes it."""
    if name == "disable_access_log_for_endpoints":
        return ",".join(value) or None
    if name == "device_ids":
        return ",".join(map(str, value))
    if name == "shutdown_timeout":
        return math.ceil(value)
    if name == "api_key":
        return [_secret(each) for each in value]
    return list(value) if isinstance(value, tuple) else value


def _secret(entry: SecretStr | ApiKey) -> SecretStr:
    """The key of an entry; an empty one where it is in a file."""
    key = entry.key if isinstance(entry, ApiKey) else entry
    return SecretStr("") if key is None else key
