"""Whether a folder holds a LoRA adapter, before an engine is asked to load it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from containers.errors import AdapterError

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
OTHER_WEIGHTS = ("adapter_model.bin", "adapter_model.pt")
_PATH_STARTS = ("/", "./", "../", "~")
_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 100_000_000


def check_adapter(path: str, *, name: str, max_rank: int) -> None:
    """Return when a folder looks like an adapter the engine can load.

    Args:
        path: The folder. What is neither a folder nor written as a path is a Hugging
            Face id, and is for the engine to find.
        name: The adapter's name, for the error.
        max_rank: The engine's ``max_lora_rank``.

    Raises:
        AdapterError: It is not there, it is damaged, or its rank is too high.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        if path.startswith(_PATH_STARTS):
            raise AdapterError(
                adapter=name, reason=f"{path} is no folder", is_absent=True
            )
        return
    _check_rank(_config(folder, name), name, max_rank)
    if (folder / WEIGHTS).is_file():
        _check_weights(folder / WEIGHTS, name)
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


def _check_weights(path: Path, name: str) -> None:
    """Return when the file is as long as its header says.

    Source:
        https://github.com/huggingface/safetensors, the format.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            if length > _MAX_HEADER_BYTES:
                raise ValueError("its header is too long")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        end = max((each["data_offsets"][1] for each in header.values()), default=0)
        if path.stat().st_size != _LENGTH_BYTES + length + end:
            raise ValueError("it is cut off, or has something behind its end")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{path} is damaged: {error}"
        raise AdapterError(adapter=name, reason=reason) from error
