"""Engine processes whose server is gone."""

from __future__ import annotations

from pathlib import Path

from containers.vllm_api.parent_watch import PARENT_VARIABLE


def orphaned_engines() -> list[int]:
    """Process ids of engines this project started whose server no longer lives.

    They hold the memory a new engine needs. Only processes of the same user are seen,
    and only on Linux.
    """
    orphans = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for entry in environment:
            name, _, value = entry.partition(b"=")
            if name == PARENT_VARIABLE.encode() and value.isdigit():
                if not Path(f"/proc/{value.decode()}").exists():
                    orphans.append(int(folder.name))
                break
    return sorted(orphans)
