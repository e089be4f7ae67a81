"""Which content of files was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

FileVersion = tuple[int, int, int] | None
"""Nanoseconds of its last change, bytes and inode; ``None`` if it was not there."""

FileVersions = Mapping[Path, FileVersion]


def file_versions(files: Iterable[Path]) -> FileVersions:
    """Versions of files as they are now."""
    return {file: file_version(file) for file in files}


def file_version(file: Path) -> FileVersion:
    """Version of a file as it is now, which any change of its content changes.

    Taken before the file is read, it is never newer than what was read.

    Args:
        file: The file; of a link, what it leads to is meant.
    """
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino
