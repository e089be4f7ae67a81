"""The user's cache folder: entries appear whole, once, and stay whole."""

from __future__ import annotations

import fcntl
import glob
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

_SEAL = ".vllm-di.json"


def cache_folder() -> Path:
    """``$VLLM_DI_CACHE``, else ``$XDG_CACHE_HOME/vllm-di``, else ``~/.cache/vllm-di``.

    Raises:
        RuntimeError: None of them is set and the user has no home folder.
    """
    own = os.environ.get("VLLM_DI_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    caches = Path(shared).expanduser() if shared else Path.home() / ".cache"
    return caches.absolute() / "vllm-di"


@contextmanager
def locked(entry: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds an entry's lock, across processes; one that dies lets go of it.

    Args:
        entry: The entry's folder, which need not exist.
        waiting: Called five times a second while another process holds it; may raise.
    """
    with entry.with_name(f"{entry.name}.lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                time.sleep(0.2)
            else:
                break
        yield


@contextmanager
def filling(entry: Path) -> Iterator[Path]:
    """A new folder that becomes the entry when the block ends without an error.

    Whatever an earlier, killed attempt left is removed first. Only under
    :func:`locked`.
    """
    for stale in entry.parent.glob(f"{glob.escape(entry.name)}.partial-*"):
        shutil.rmtree(stale, ignore_errors=True)
    partial = Path(mkdtemp(prefix=f"{entry.name}.partial-", dir=entry.parent))
    try:
        yield partial
        _seal(partial)
        if entry.exists():
            # Renamed first: a server that has the damaged entry open keeps its files.
            entry.rename(partial.with_name(f"{partial.name}-old"))
        partial.rename(entry)
        _flush(entry.parent)
    finally:
        for rest in (partial, partial.with_name(f"{partial.name}-old")):
            shutil.rmtree(rest, ignore_errors=True)


def is_whole(entry: Path) -> bool:
    """Whether the entry is there with every file in its full size."""
    try:
        sizes = json.loads((entry / _SEAL).read_text(encoding="utf-8"))
        return all(
            (entry / name).stat().st_size == size for name, size in sizes.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _seal(folder: Path) -> None:
    files = [file for file in folder.iterdir() if file.is_file()]
    sizes = {file.name: file.stat().st_size for file in files}
    seal = folder / _SEAL
    seal.write_text(json.dumps(sizes, indent=1, sort_keys=True), encoding="utf-8")
    for place in (*files, seal, folder):
        place.chmod(0o755 if place == folder else 0o644)  # a cache may be shared
        _flush(place)


def _flush(place: Path) -> None:
    """Waits until a file or folder is on the disk, not only on its way."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
