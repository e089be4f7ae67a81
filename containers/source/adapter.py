"""Whether a folder holds a LoRA adapter, before an engine is asked to load it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from containers.errors import AdapterError
from containers.settings.places import expanded

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
OTHER_WEIGHTS = ("adapter_model.bin", "adapter_model.pt")
_PATH_STARTS = ("/", "./", "../", "~")
_ATTENTION_INPUT = re.compile(r"\.layers\.\d+\.self_attn\.[qkv]_proj\.lora_A\.weight$")
_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 100_000_000


def check_adapter(
    path: str, *, name: str, max_rank: int, hidden_size: int | None = None
) -> None:
    """Return when a folder looks like an adapter the engine can load.

    Args:
        path: The folder. What is neither a folder nor written as a path is a Hugging
            Face id, and is for the engine to find.
        name: The adapter's name, for the error.
        max_rank: The engine's ``max_lora_rank``.
        hidden_size: The model's; ``None`` if it is not to be compared. vLLM loads an
            adapter of a smaller model without a word, and answers nonsense.

    Raises:
        AdapterError: It is not there, it is damaged, its rank is too high, or it is
            another model's.
    """
    folder = expanded(path)
    if not folder.is_dir():
        if path.startswith(_PATH_STARTS):
            raise AdapterError(
                adapter=name, reason=f"{path} is no folder", is_absent=True
            )
        return
    _check_rank(_config(folder, name), name, max_rank)
    if (folder / WEIGHTS).is_file():
        tensors = _tensors(folder / WEIGHTS, name)
        if hidden_size is not None:
            _check_shapes(tensors, name, hidden_size)
    elif not any((folder / other).is_file() for other in OTHER_WEIGHTS):
        raise AdapterError(
            adapter=name, reason=f"{folder} has no {WEIGHTS}", is_absent=True
        )


def _config(folder: Path, name: str) -> Mapping[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text("utf-8"))
    except FileNotFoundError:
        reason = f"{folder} has no {CONFIG}"
        raise AdapterError(adapter=name, reason=reason, is_absent=True) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = f"{folder / CONFIG} cannot be read: {error}"
        raise AdapterError(adapter=name, reason=reason) from error
    if not isinstance(config, dict):
        raise AdapterError(adapter=name, reason=f"{folder / CONFIG} is no mapping")
    return config


def _check_rank(config: Mapping[str, Any], name: str, max_rank: int) -> None:
    rank = config.get("r")
    if not isinstance(rank, int) or rank < 1:
        raise AdapterError(adapter=name, reason=f"{CONFIG} has no rank r of 1 or more")
    if rank > max_rank:
        raise AdapterError(
            adapter=name,
            reason=f"its rank is {rank}, engine.max_lora_rank is {max_rank}",
            hint="Start the server with a higher engine.max_lora_rank.",
        )


def _tensors(path: Path, name: str) -> Mapping[str, Any]:
    """What the header says of each tensor, if the file is as long as that says.

    Source:
        https://github.com/huggingface/safetensors, the format.
    """
    try:
        length, tensors = _header(path)
        tensors.pop("__metadata__", None)
        end = max((each["data_offsets"][1] for each in tensors.values()), default=0)
        fits = path.stat().st_size == _LENGTH_BYTES + length + end
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{path} is damaged: {error}"
        raise AdapterError(adapter=name, reason=reason) from error
    if not fits:
        reason = f"{path} is cut off, or has something behind its end"
        raise AdapterError(adapter=name, reason=reason)
    return dict(tensors)


def _check_shapes(tensors: Mapping[str, Any], name: str, hidden_size: int) -> None:
    for tensor, about in tensors.items():
        shape = about.get("shape")
        if _ATTENTION_INPUT.search(tensor) and shape and shape[-1] != hidden_size:
            raise AdapterError(
                adapter=name,
                reason=f"it is for a model of hidden size {shape[-1]}, "
                f"not of {hidden_size}",
            )


def _header(path: Path) -> tuple[int, Any]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if length > _MAX_HEADER_BYTES:
            raise ValueError("its header is too long")
        return length, json.loads(file.read(length))
