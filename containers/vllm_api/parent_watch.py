"""Engine processes that end when the process that serves them is killed.

vLLM stops its engine processes when its API process ends in order. Killed with
SIGKILL, that process can tell nobody, and engine and workers would live on for ever
with their memory. So each of them watches it: vLLM calls :func:`watch_parent` in every
process it starts, as a plugin of the group ``vllm.general_plugins``.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterator

PARENT_VARIABLE = "VLLM_DI_API_PROCESS"
GRACE_S = 3.0
"""Seconds an orphan has to clean up after SIGTERM before SIGKILL."""


@contextlib.contextmanager
def announced_parent() -> Iterator[None]:
    """Tell engine processes started in this block which process to watch."""
    before = os.environ.get(PARENT_VARIABLE)
    os.environ[PARENT_VARIABLE] = str(os.getpid())
    try:
        yield
    finally:
        if before is None:
            del os.environ[PARENT_VARIABLE]
        else:
            os.environ[PARENT_VARIABLE] = before


def watch_parent() -> None:
    """End this process soon after the announced one is gone.

    In any other process than an engine's it does nothing. Linux only, and not when
    ``VLLM_PLUGINS`` names other plugins alone.
    """
    announced = os.environ.get(PARENT_VARIABLE, "")
    if not announced.isdigit() or int(announced) == os.getpid():
        return
    try:
        handle = os.pidfd_open(int(announced))
    except ProcessLookupError:
        _end()
        return
    except (AttributeError, OSError):
        return
    threading.Thread(
        target=_end_after, args=(handle,), name="vllm-di parent watch", daemon=True
    ).start()


def _end_after(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll()
    _end()


def _end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
