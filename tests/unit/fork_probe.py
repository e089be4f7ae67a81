"""What a child process finds around it; imported by children of two start methods."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

VARYING = {"LC_CTYPE", "COLUMNS", "LINES"}
"""Set behind Python's back: by its own start, and by the readline library."""


BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""What OpenMP runs in each of its threads."""


def surroundings() -> dict[str, Any]:
    """All that a process inherits from the one that starts it."""
    return {
        "environment": {k: v for k, v in os.environ.items() if k not in VARYING},
        "folder": str(Path.cwd()),
        "umask": os.umask(0o22),
        "cpus": os.sched_getaffinity(0),
        "niceness": os.nice(0),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "signals": {n: _disposition(n) for n in signal.valid_signals()},
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "arguments": sys.argv,
        "path": sys.path,
        "main": getattr(sys.modules["__main__"], "__file__", None),
        "collector": (gc.isenabled(), gc.get_threshold()),
        "threads": [thread.name for thread in threading.enumerate()],
    }


def descriptors() -> int:
    """How many files are open above standard error."""
    return sum(int(name.name) > 2 for name in Path("/proc/self/fd").iterdir())


def openmp_threads() -> dict[str, Any]:
    """How torch computes: its threads, and the CPUs each of them may use."""
    import torch

    torch.ones(2_000_000).sin().sum()
    library = ctypes.CDLL(None)
    allowed: dict[int, list[int]] = {}

    def note(_: int | None) -> None:
        allowed[library.omp_get_thread_num()] = sorted(os.sched_getaffinity(0))

    library.GOMP_parallel(BODY(note), None, 0, 0)
    return {
        "n_threads": torch.get_num_threads(),
        "main": sorted(os.sched_getaffinity(0)),
        "each": allowed,
    }


def send(pipe: Connection, what: Callable[[], Any]) -> None:
    """Answer a question through a pipe."""
    pipe.send(what())


def leave(status: int) -> None:
    """End with a status."""
    sys.exit(status)


def write(text: str) -> None:
    """Write to standard output."""
    print(text, flush=True)  # noqa: T201  # what the test is about


def sleep() -> None:
    """Run until a signal comes."""
    signal.pause()


def leave_note(path: str) -> None:
    """Write a file at the very end."""
    import atexit

    atexit.register(Path(path).write_text, "left")


def random_number() -> float:
    """The next number of numpy's global generator."""
    import numpy as np

    return float(np.random.rand())  # noqa: NPY002  # the global one is the point


def _disposition(number: int) -> str:
    return repr(signal.getsignal(number))
