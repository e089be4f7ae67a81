"""Shared memory of processes that are killed before they can give it back."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

_PLACE = "/dev/shm/psm_"  # noqa: S108  # where Python keeps it on Linux, and its prefix


def shared_memory_of(pid: int) -> set[str]:
    """Names of the shared memory of Python's that a process has; Linux only.

    Args:
        pid: Number of the process; one that is gone has none.
    """
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    found = (line[line.index(_PLACE) :] for line in lines if _PLACE in line)
    return {Path(each.partition(" ")[0]).name for each in found}


def give_back(names: Iterable[str]) -> None:
    """Remove shared memory that nobody will; processes that still have it keep it.

    Python's tracker of it, which would remove it when this process ends, forgets it.
    """
    for name in names:
        with suppress(FileNotFoundError):
            memory = SharedMemory(name)
            memory.close()
            memory.unlink()
