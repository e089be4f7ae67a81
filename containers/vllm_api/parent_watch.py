"""Engine processes that end when the process that serves them is killed.

vLLM stops its engine processes when its API process ends in order. Killed with
SIGKILL, that process can tell nobody, and engine and workers would live on for ever
with their memory. So each of them watches it, from the moment it unpickles the
configuration that every spawned process of an engine is started with. It also leaves
the terminal's process group: Ctrl-C is for the server, which then stops its engine.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

GRACE_S = 2.0
"""Seconds an orphan has to clean up after SIGTERM before SIGKILL."""

EXIT_ORPHANED = 143
"""Status of one whose server has gone before it began: as if told to end."""

ENGINE_NAMES = ("EngineCore", "VllmWorker")
"""How vLLM names the processes of an engine, followed by their rank."""

_started = threading.Lock()


class Identity(NamedTuple):
    """A process, told from any other of the same number.

    Attributes:
        boot: Id of the machine's boot.
        namespace: Its namespace of process ids.
        pid: Its number.
        born: When it began, in clock ticks since the boot; empty once it is gone.
    """

    boot: str
    namespace: str
    pid: int
    born: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """Identity of a process as this one sees it; Linux only."""
        boot = born = namespace = ""
        with suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
            namespace = str(Path("/proc/self/ns/pid").readlink())
            born = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            born = born.rpartition(")")[2].split()[19]
        return cls(boot, namespace, pid, born)


class ParentWatch:
    """Travels with an engine's configuration and watches where it arrives.

    Args:
        watched: The process to watch; this one by default.
    """

    def __init__(self, watched: Identity | None = None) -> None:
        self.watched = watched or Identity.of(os.getpid())

    def __reduce__(self) -> tuple[Any, ...]:
        """Arrive as :func:`arrive` makes it."""
        return arrive, (tuple(self.watched),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Stay: a copy has not travelled."""
        return self


def attach_watch(vllm_config: Any) -> None:
    """Let the processes of the engine with this configuration watch this process.

    vLLM must spawn them, as its own server does: a forked process unpickles nothing.
    """
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    vllm_config.vllm_di_parent_watch = ParentWatch()


def arrive(watched: tuple[str, str, int, str]) -> ParentWatch:
    """Watch the process, if this is a process of its engine on the same machine.

    Anywhere else, such as in a process that merely reads a pickled configuration, it
    does nothing.
    """
    identity = Identity(*watched)
    here = Identity.of(identity.pid)
    is_engine = multiprocessing.current_process().name.startswith(ENGINE_NAMES)
    is_here = identity.boot and identity[:2] == here[:2]
    if is_engine and is_here and _started.acquire(blocking=False):
        if _ends(identity, within_ms=0):  # before anything has begun: say nothing of it
            os._exit(EXIT_ORPHANED)
        with suppress(OSError):
            os.setpgid(0, 0)
        threading.Thread(
            target=_end_after,
            args=(identity,),
            name="vllm-di parent watch",
            daemon=True,
        ).start()
    return ParentWatch(identity)


def _end_after(watched: Identity) -> None:
    if not _ends(watched, within_ms=None):
        return
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _ends(watched: Identity, *, within_ms: int | None) -> bool:
    """Wait until a process has ended; whether it has, as far as one can know here."""
    try:
        handle = os.pidfd_open(watched.pid)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):
        return False
    try:
        if Identity.of(watched.pid) != watched:
            return True
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(within_ms))
    finally:
        os.close(handle)
