"""What a process gets from the one that starts it, and a fork of another does not."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

OUTPUTS = (1, 2)
"""Standard output and error; standard input is closed by multiprocessing itself."""

IGNORED_BY_PYTHON = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
UNSETTABLE = frozenset({signal.SIGKILL, signal.SIGSTOP})


@dataclass(frozen=True)
class Circumstances:
    """How the process lives that asks for a child, at that moment.

    Attributes:
        environment: Its environment variables.
        umask: Its file mode creation mask.
        cpus: CPUs the asking thread may run on.
        niceness: Its scheduling priority.
        limits: Soft and hard resource limits, by their number.
        ignored: Signals it ignores, apart from those that Python itself ignores.
        blocked: Signals the asking thread blocks.
        outputs: Those of its standard output and error that are open.
    """

    environment: dict[str, str]
    umask: int
    cpus: frozenset[int]
    niceness: int
    limits: dict[int, tuple[int, int]]
    ignored: frozenset[int]
    blocked: frozenset[int]
    outputs: tuple[int, ...] = field(default=OUTPUTS)

    @classmethod
    def here(cls) -> Self:
        """Those of this process and thread."""
        return cls(
            environment=dict(os.environ),
            umask=_umask(),
            cpus=frozenset(os.sched_getaffinity(0)),
            niceness=os.getpriority(os.PRIO_PROCESS, 0),
            limits={number: resource.getrlimit(number) for number in _limits()},
            ignored=_ignored_signals(),
            blocked=frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            outputs=tuple(number for number in OUTPUTS if _is_open(number)),
        )

    def take_on(self, outputs: Sequence[int]) -> None:
        """Make them those of this process.

        Args:
            outputs: File descriptors that become :attr:`outputs`; they stay open.
        """
        for number, descriptor in zip(self.outputs, outputs, strict=True):
            os.dup2(descriptor, number)
        os.umask(self.umask)
        _replace_environment(self.environment)
        for number, limit in self.limits.items():
            with suppress(ValueError, OSError):
                resource.setrlimit(number, limit)
        with suppress(OSError):
            os.sched_setaffinity(0, self.cpus)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, self.niceness)
        self._take_on_signals()

    def _take_on_signals(self) -> None:
        for number in _ignored_signals() - self.ignored:
            is_interrupt = number == signal.SIGINT
            default = signal.default_int_handler if is_interrupt else signal.SIG_DFL
            signal.signal(number, default)
        for number in self.ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.blocked)


def _replace_environment(wanted: dict[str, str]) -> None:
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)


def _umask() -> int:
    # os.umask would have to set another one for a moment, for all threads.
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    lines = dict(line.partition(":")[::2] for line in status.splitlines())
    return int(lines.get("Umask", "22"), 8)


def _limits() -> frozenset[int]:
    names = (name for name in dir(resource) if name.startswith("RLIMIT_"))
    return frozenset(getattr(resource, name) for name in names)


def _ignored_signals() -> frozenset[int]:
    return frozenset(
        number
        for number in signal.valid_signals() - IGNORED_BY_PYTHON - UNSETTABLE
        if signal.getsignal(number) is signal.SIG_IGN
    )


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
