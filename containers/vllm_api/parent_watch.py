"""Engine processes that end when the process that serves them is killed.

vLLM stops its engine processes when its API process ends in order. Killed with
SIGKILL, that process can tell nobody, and engine and workers would live on for ever
with their memory. So each of them watches it, from the moment it unpickles the
configuration that every process of an engine is started with.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from typing import Any

GRACE_S = 2.0
"""Seconds an orphan has to clean up after SIGTERM before SIGKILL."""

_started = threading.Lock()


class ParentWatch:
    """Travels with an engine's configuration and watches where it arrives.

    Args:
        pid: The process to watch; this one by default.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.pid = pid or os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        """Arrive as :func:`watch` makes it."""
        return watch, (self.pid,)


def attach_watch(vllm_config: Any) -> None:
    """Let the processes of the engine with this configuration watch this process."""
    vllm_config.vllm_di_parent_watch = ParentWatch()


def watch(pid: int) -> ParentWatch:
    """End this process soon after another one is gone; Linux only.

    In that very process it does nothing, nor when this one watches already.
    """
    if pid != os.getpid() and _started.acquire(blocking=False):
        threading.Thread(
            target=_end_after, args=(pid,), name="vllm-di parent watch", daemon=True
        ).start()
    return ParentWatch(pid)


def _end_after(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        pass
    except (AttributeError, OSError):
        return
    else:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
