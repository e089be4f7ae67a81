"""Engine processes whose server is gone."""

from __future__ import annotations

from pathlib import Path

ENGINE_TITLES = (b"VLLM::EngineCore", b"VLLM::Worker")
SERVERS = (b"vllm", b"python", b"ray")
INIT_PID = 1


def orphaned_engines() -> list[int]:
    """Process ids of vLLM engines that likely outlived their server; Linux only.

    They hold the memory that a new engine needs. An engine is named by its process
    title, and an orphan by its parent: the system's first process adopts it. Where
    that process may be the server itself, as in a container, nothing can be told.
    """
    if any(name in _read(Path(f"/proc/{INIT_PID}/cmdline")) for name in SERVERS):
        return []
    return sorted(
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if _read(folder / "cmdline").startswith(ENGINE_TITLES)
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
