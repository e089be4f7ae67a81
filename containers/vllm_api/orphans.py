"""Engine processes whose server is gone."""

from __future__ import annotations

from pathlib import Path

ENGINE_TITLE = b"VLLM::EngineCore"
INIT_PID = 1


def orphaned_engines() -> list[int]:
    """Process ids of vLLM engines that likely outlived their server; Linux only.

    They hold the memory that a new engine needs. An engine is named by its process
    title, and an orphan by its parent: the system's first process adopts it.
    """
    return sorted(
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if _read(folder / "cmdline").startswith(ENGINE_TITLE)
        and _parent(folder) == INIT_PID
    )


def _parent(folder: Path) -> int:
    # The name in brackets may hold anything, so what follows the last one counts.
    _, _, rest = _read(folder / "stat").rpartition(b")")
    fields = rest.split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
