"""The checks of the files a model's settings name, beside the model itself."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from app.checks.report import Report
from containers.errors import SettingsError
from containers.settings import LoraModule, ModelSettings
from containers.source import cached_snapshot, is_offline

_JINJA = frozenset("{}\n")
_ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_ADAPTER_HINT = "Name the folder that PEFT saved an adapter to, or a Hugging Face id."
_MAX_LORA_RANK = 16
"""vLLM's ``max_lora_rank`` unless it is set (vllm/config/lora.py, 0.32.0)."""


def check_files(
    settings: ModelSettings, report: Report, *, prefix: str, key: str
) -> None:
    """Check template, plugin and adapters, as far as they are files.

    Args:
        settings: The model's settings.
        report: Told how each check came out.
        prefix: What the names of the checks begin with.
        key: Path of the model's key, such as ``models.0``.
    """
    chat = settings.chat
    if chat.template is not None and _is_file_name(chat.template):
        action = partial(_text_file, chat.template, f"{key}.chat.template")
        report.attempt(f"{prefix}template", action, str)
    if chat.tool_parser_plugin is not None:
        where = f"{key}.chat.tool_parser_plugin"
        action = partial(_text_file, chat.tool_parser_plugin, where)
        report.attempt(f"{prefix}plugin", action, str)
    max_rank = settings.engine.get("max_lora_rank") or _MAX_LORA_RANK
    for index, module in enumerate(settings.lora.modules):
        where = f"{key}.lora.modules.{index}.path"
        action = partial(_adapter, module, where, max_rank)
        report.attempt(f"{prefix}lora.{module.name}", action, str)


def _is_file_name(template: str) -> bool:
    """Whether it is a file: settings make files' paths absolute."""
    return Path(template).is_absolute() and not _JINJA & set(template)


def _text_file(path: str, key: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        raise SettingsError(
            key=key,
            reason=f"{path} cannot be read: {reason}",
            hint="Name a text file.",
        ) from error
    if not text.strip():
        raise SettingsError(key=key, reason=f"{path} is empty", hint="Write it.")
    return f"file {path}, {len(text.splitlines())} lines"


def _adapter(module: LoraModule, key: str, max_rank: int) -> str:
    folder, place = Path(module.path), "folder"
    if not folder.is_absolute():
        snapshot = cached_snapshot(module.path)
        if snapshot is None:
            return _to_be_fetched(module.path, key)
        folder, place = snapshot, "Hugging Face id, in the cache"
    rank = _adapter_config(folder, key).get("r")
    if not any((folder / name).is_file() for name in _ADAPTER_WEIGHTS):
        reason = f"{folder} has no adapter_model.safetensors"
        raise SettingsError(key=key, reason=reason, hint=_ADAPTER_HINT)
    if isinstance(rank, int) and rank > max_rank:
        raise SettingsError(
            key=key,
            reason=f"the adapter has rank {rank}, engine.max_lora_rank is {max_rank}",
            hint="Set engine.max_lora_rank to that rank or the next that vLLM takes.",
        )
    return f"{place} {folder}" + (f", rank {rank}" if rank is not None else "")


def _adapter_config(folder: Path, key: str) -> dict[str, Any]:
    try:
        config = json.loads((folder / "adapter_config.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "has no adapter_config.json" if missing else "cannot be read"
        raise SettingsError(
            key=key, reason=f"{folder} {reason}", hint=_ADAPTER_HINT
        ) from error
    return config if isinstance(config, dict) else {}


def _to_be_fetched(name: str, key: str) -> str:
    if is_offline():
        raise SettingsError(
            key=key,
            reason=f"{name} is not in the cache, and HF_HUB_OFFLINE is set",
            hint="Unset it, or name a folder.",
        )
    return f"Hugging Face id {name}, not in the cache: the first start fetches it"
