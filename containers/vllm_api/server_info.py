"""What vLLM runs with, as plain values without secrets."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from containers import vllm_api

MASK = "**********"
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_NO_SECRETS = ("TOKENS", "TOKENIZER", "TOKEN_ID", "KEYS_TO", "KEY_VALUE")


def config_content(vllm_config: Any) -> dict[str, Any]:
    """A ``VllmConfig`` as JSON takes it, secrets masked.

    Source:
        vllm/entrypoints/serve/dev/server_info/api_router.py (0.32.0).
    """
    content: dict[str, Any] = _adapter().dump_python(
        vllm_config, mode="json", fallback=str
    )
    masked: dict[str, Any] = _masked(content)
    return masked


def variables() -> dict[str, Any]:
    """vLLM's environment variables as it understands them, secrets masked."""
    found: dict[str, Any] = {}
    for name, read in sorted(vllm_api.environment_variables.items()):
        try:
            value = read()
        except ValueError as error:
            value = f"invalid: {error}"
        if value is not None and name.startswith("VLLM_"):
            found[name] = MASK if _is_secret(name) else _plain(value)
    return found


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(vllm_api.VllmConfig)


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: MASK if _is_secret(key) and isinstance(each, str) else _masked(each)
            for key, each in value.items()
        }
    return [_masked(each) for each in value] if isinstance(value, list) else value


def _is_secret(name: Any) -> bool:
    text = str(name).upper()
    for harmless in _NO_SECRETS:
        text = text.replace(harmless, "")
    return any(word in text for word in _SECRETS)


def _plain(value: Any) -> Any:
    is_plain = isinstance(value, bool | int | float | str)
    return value if is_plain else str(value)
