"""Commands that take a while, one line each, and one set-up at a time."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.environment.errors import StepError

STOP_TIMEOUT_S = 20.0
TICK_S = 0.5


@contextmanager
def only_one(folder: Path) -> Iterator[int]:
    """Hold the set-up of ``folder``, waiting while another process does.

    Yields:
        A file descriptor. A child that inherits it holds the set-up too, so that a
        killed parent does not let another one in beside its child.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this folder is at work, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def say(text: str, end: str = "\n") -> None:
    """Print a line of progress at once; on a terminal it replaces an unfinished one."""
    start = "\r" if sys.stdout.isatty() else ""
    sys.stdout.write(f"{start}set-up: {text}{end}")
    sys.stdout.flush()


def step(label: str, command: Sequence[str], *, lock: int, hint: str) -> None:
    """Run a command as one line of progress; its output shows only if it fails.

    Args:
        label: What the line says, before the seconds.
        command: Program and arguments.
        lock: The file descriptor of ``only_one``.
        hint: What a person can do when it fails.

    Raises:
        StepError: The command failed.
    """
    began = time.monotonic()
    say(label, end="")
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[lock],
        )
        with _stopped_at_the_end(process):
            _wait(process, label, began)
        _finish_line(label, time.monotonic() - began)
        if process.returncode != 0:
            output.seek(0)
            raise StepError(step=label, output=output.read(), hint=hint)


@contextmanager
def _stopped_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Interrupt what still runs on the way out: pip then removes its own leavings."""
    try:
        yield
    finally:
        if process.poll() is None:
            sys.stdout.write("\n")
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], label: str, began: float) -> None:
    while True:
        try:
            process.wait(TICK_S)
        except subprocess.TimeoutExpired:
            if sys.stdout.isatty():
                seconds = time.monotonic() - began
                say(f"{label} {seconds:.0f} s", end="")
        else:
            return


def _finish_line(label: str, seconds: float) -> None:
    if sys.stdout.isatty():
        say(f"{label} {seconds:.1f} s")
    else:
        sys.stdout.write(f" {seconds:.1f} s\n")
        sys.stdout.flush()
