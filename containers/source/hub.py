"""What the cache of the Hugging Face hub's client holds; nothing is fetched."""

from __future__ import annotations

from pathlib import Path

_CONFIG_FILES = ("config.json", "params.json", "adapter_config.json")


def cached_snapshot(name: str, *, revision: str | None = None) -> Path | None:
    """Folder of a repository's snapshot in the cache, or ``None``.

    Args:
        name: Hugging Face id of a model or adapter.
        revision: Branch, tag or commit; by default the main branch.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    for file in _CONFIG_FILES:
        try:
            found = try_to_load_from_cache(name, file, revision=revision)
        except HFValidationError:
            return None
        if isinstance(found, str):
            return Path(found).parent
    return None


def is_offline() -> bool:
    """Whether ``HF_HUB_OFFLINE`` keeps the client from fetching."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)
