"""A fork server as seen by those who use it."""

from __future__ import annotations

import os
import pickle
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from typing import NamedTuple

from containers.vllm_api.forkserver.circumstances import OUTPUTS
from containers.vllm_api.forkserver.environment import (
    outdated,
    starting_environment,
)
from containers.vllm_api.forkserver.request import (
    LOST,
    NUMBER,
    Introduction,
    Request,
)

FORK_TIMEOUT_S = 60.0
"""Seconds a fork may take: one of a large process, on a machine that is swapping."""
LOOK_S = 0.1
"""Seconds between two looks at whether the wait for a server is given up."""

COMMAND = (
    "import sys; sys.path[:] = {path!r}; "
    "from containers.vllm_api.forkserver.server import main; "
    "main({requests}, {alive}, {introduction}, on_cpu={on_cpu})"
)


class Forked(NamedTuple):
    """A process that has just been forked; the descriptors are the asker's to close.

    Attributes:
        pid: Its number.
        handle: Its pidfd.
        payload: Write end of the pipe it reads what it shall do from.
        reply: Where the server will tell its exit code.
    """

    pid: int
    handle: int
    payload: int
    reply: int


class Asker:
    """Asks a fork server for processes; the server may be another process' child.

    Args:
        requests: A socket of that server.
    """

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    def fork(self, inherited: Sequence[int]) -> Forked:
        """Have a process forked.

        Args:
            inherited: File descriptors the process shall get.

        Raises:
            OSError: The server is gone, or does not answer.
        """
        read, write = os.pipe()
        reply, far_reply = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = Request(
            payload=read,
            reply=far_reply.detach(),
            tracker=os.dup(resource_tracker.getfd()),
            server=os.dup(self._requests.fileno()),
            outputs=tuple(_duplicates(OUTPUTS)),
            inherited=tuple(os.dup(descriptor) for descriptor in inherited),
        )
        try:
            request.send(self._requests)
            request.close()
            pid, handle = _born(reply)
        except BaseException:
            os.close(write)
            reply.close()
            raise
        return Forked(pid, handle, write, reply.detach())

    @staticmethod
    def hear(reply: int) -> int:
        """Exit code told through a descriptor that has something to read."""
        content = b""
        with suppress(OSError):
            content = os.read(reply, NUMBER.size)
        return int(NUMBER.unpack(content)[0]) if content else LOST


def _duplicates(descriptors: Sequence[int]) -> list[int]:
    duplicates = []
    for descriptor in descriptors:
        with suppress(OSError):
            duplicates.append(os.dup(descriptor))
    return duplicates


def _born(reply: socket.socket) -> tuple[int, int]:
    reply.settimeout(FORK_TIMEOUT_S)
    content, descriptors, *_ = socket.recv_fds(reply, NUMBER.size, 1)
    if not content:
        raise ConnectionResetError("the fork server ended before it could fork")
    reply.settimeout(None)
    os.set_inheritable(descriptors[0], False)
    return int(NUMBER.unpack(content)[0]), descriptors[0]


class ForkServer(Asker):
    """A fork server that this process has started and will stop.

    It begins to import at once; nothing waits for that but :meth:`wait_until_ready`.
    When this process ends, in whatever way, so does the server.

    Args:
        on_cpu: Whether its engines will run on the CPU.
    """

    def __init__(self, *, on_cpu: bool) -> None:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(near)
        self._introduction: Introduction | None = None
        self._introducing, introduction = os.pipe()
        alive, self._alive = os.pipe()
        self._ready = threading.Lock()
        command = COMMAND.format(
            path=sys.path,
            requests=far.fileno(),
            alive=alive,
            introduction=introduction,
            on_cpu=on_cpu,
        )
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001  # as multiprocessing does
        try:
            self.process = subprocess.Popen(  # noqa: S603  # our own command
                [sys.executable, *flags, "-c", command],
                stdin=subprocess.DEVNULL,
                env=starting_environment(on_cpu=on_cpu),
                pass_fds=(far.fileno(), alive, introduction),
                process_group=0,  # Ctrl-C is for the process that stops it
            )
        finally:
            far.close()
            os.close(alive)
            os.close(introduction)

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        return self.process.poll() is None

    def wait_until_ready(self, heed: Callable[[], None] = lambda: None) -> str:
        """Wait until it can fork.

        Args:
            heed: Called several times a second; the wait ends with what it raises.

        Returns:
            Why it cannot fork, or an empty string.
        """
        with self._ready:
            if self._introduction is None:
                while not select.select([self._introducing], [], [], LOOK_S)[0]:
                    heed()
                self._introduction = self._read_introduction()
            return self._introduction.trouble

    def _read_introduction(self) -> Introduction:
        with os.fdopen(os.dup(self._introducing), "rb") as pipe:
            content = pipe.read()
        if not content:
            status = self.process.wait()
            return Introduction({}, f"its process ended with status {status}")
        introduction = pickle.loads(content)  # noqa: S301  # from our own child
        assert isinstance(introduction, Introduction)  # noqa: S101  # what it sends
        return introduction

    def outdated(self) -> list[str]:
        """Variables of this process that the server has read with another value."""
        if self._introduction is None:
            return []
        return outdated(self._introduction.environment, os.environ)

    def stop(self) -> None:
        """End it; processes it has forked are not touched. A second call does nothing.

        Nobody may be waiting for it any more.
        """
        if self._alive < 0:
            return
        # It has nothing to tidy up, and may be in the middle of an import.
        self.process.kill()
        self.process.wait()
        os.close(self._alive)
        os.close(self._introducing)
        self._alive = self._introducing = -1
        self._requests.close()
