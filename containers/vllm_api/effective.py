"""What vLLM made of its engine arguments."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.kinds import is_secret

_KEPT_AS = {
    "kv_cache_dtype": "cache_dtype",
    "runner": "runner_type",
    "scheduling_policy": "policy",
}
"""Arguments whose value is kept under another name."""

_NOT_SHOWN = frozenset({"model", "served_model_name"})


def effective_arguments(vllm_config: Any) -> dict[str, Any]:
    """Engine arguments by name, with the plain values vLLM runs with.

    Args:
        vllm_config: A ``VllmConfig``.
    """
    kept: dict[str, Any] = {}
    for field in fields(vllm_config):
        part = getattr(vllm_config, field.name)
        if is_dataclass(part):
            kept |= {each.name: getattr(part, each.name, None) for each in fields(part)}
            kept.setdefault("runner_type", getattr(part, "runner_type", None))
    found = {}
    for name, kind in (engine_arguments() or {}).items():
        value = _plain(kept.get(_KEPT_AS.get(name, name)))
        if value is not None and name not in _NOT_SHOWN and not is_secret(kind):
            found[name] = value
    return found


def _plain(value: Any) -> Any:
    """A value a config file could hold, or ``None``."""
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, int) else value.name
    if isinstance(value, bool | int | float | str):
        return value
    if type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    if isinstance(value, list | tuple) and value:
        inside = [_plain(each) for each in value]
        return inside if None not in inside else None
    return None
