"""Asking a fork server for processes."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from typing import NamedTuple

from containers.vllm_api.forkserver.circumstances import OUTPUTS
from containers.vllm_api.forkserver.request import LOST, NUMBER, Request

FORK_TIMEOUT_S = 60.0
"""Seconds a fork may take: one of a large process, on a machine that is swapping."""


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
            tracker=_tracker(),
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


def _tracker() -> int:
    """A descriptor of multiprocessing's resource tracker, started if need be."""
    descriptor = resource_tracker.getfd()
    assert descriptor is not None  # noqa: S101  # it has just been started
    return os.dup(descriptor)


def _duplicates(descriptors: Sequence[int]) -> list[int]:
    duplicates = []
    for descriptor in descriptors:
        with suppress(OSError):
            duplicates.append(os.dup(descriptor))
    return duplicates


def _born(reply: socket.socket) -> tuple[int, int]:
    reply.settimeout(FORK_TIMEOUT_S)
    content, descriptors, *_ = socket.recv_fds(
        reply, NUMBER.size, 1, socket.MSG_CMSG_CLOEXEC
    )
    if not content:
        raise ConnectionResetError("the fork server ended before it could fork")
    reply.settimeout(None)
    return int(NUMBER.unpack(content)[0]), descriptors[0]
