"""vLLM's parameter objects as plain data that JSON can hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from containers.testing.requests import RecordedRequest

Plain = dict[str, Any]

# How an answer is made, not what is answered.
_WITHOUT_EFFECT = frozenset({"skip_clone", "output_text_buffer_length"})


def described(request: RecordedRequest) -> Plain:
    """What makes one request equal to another: no ids, times, headers or priority."""
    params = request.sampling_params
    description: Plain = {
        "call": "encode" if params is None else "generate",
        "prompt": request.prompt,
        "prompt_token_ids": list(request.prompt_token_ids),
        "params": changed(request.pooling_params if params is None else params),
    }
    if request.media_sha256:
        description["media_sha256"] = request.media_sha256
    if request.lora_request is not None:
        description["lora"] = request.lora_request.lora_name
    return description


def changed(params: Any) -> Plain:
    """Public fields of a parameter object that are not what they are by default."""
    default = type(params)()
    return {
        name: plain(value)
        for name in params.__struct_fields__
        if not name.startswith("_")
        and name not in _WITHOUT_EFFECT
        and plain(value := getattr(params, name)) != plain(getattr(default, name))
    }


def plain(value: Any) -> Any:
    """The value as JSON holds it; objects as their fields, sets in order."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return _collected(value)


def _collected(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(inner) for inner in value]
    names = _field_names(value)
    return {name: plain(getattr(value, name)) for name in names} or repr(value)


def _field_names(value: Any) -> list[str]:
    names: Sequence[str] = getattr(type(value), "__struct_fields__", ())
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    return [name for name in names if not name.startswith("_")]
