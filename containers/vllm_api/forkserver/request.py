"""What is said between a fork server and those who ask it for processes.

A request is one packet with file descriptors. It names no length and no order among
several askers, so an engine core asks through the same socket as the API process.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from containers.vllm_api.forkserver.circumstances import Circumstances

FORK = b"fork"
NUMBER = struct.Struct("q")
MAX_DESCRIPTORS = 250

LOST = 255
"""Exit code of a process whose fork server is gone."""


class Introduction(NamedTuple):
    """What a fork server says once, when it can fork.

    Attributes:
        environment: Its environment after the imports.
        trouble: Why it cannot fork, or an empty string.
    """

    environment: dict[str, str]
    trouble: str


@dataclass(frozen=True)
class Request:
    """File descriptors a fork is made with; this process owns them.

    Attributes:
        payload: Where the child reads its circumstances and what it shall run.
        reply: Where the server tells pid and exit code.
        tracker: multiprocessing's resource tracker.
        server: The socket for further requests.
        outputs: Standard output and error; one that is closed is left out.
        inherited: What the child's arguments refer to.
    """

    payload: int
    reply: int
    tracker: int
    server: int
    outputs: tuple[int, ...]
    inherited: tuple[int, ...]

    def send(self, through: socket.socket) -> None:
        """Send it; the descriptors stay open here."""
        descriptors = (
            *(self.payload, self.reply, self.tracker, self.server),
            *self.outputs,
            *self.inherited,
        )
        if len(descriptors) > MAX_DESCRIPTORS:
            raise ValueError(f"{len(descriptors)} file descriptors are too many")
        head = FORK + NUMBER.pack(len(self.outputs))
        socket.send_fds(through, [head], descriptors)

    @classmethod
    def receive(cls, through: socket.socket) -> Request | None:
        """The next one, or ``None`` when nobody is left to ask."""
        head, descriptors, *_ = socket.recv_fds(
            through, 64, MAX_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        if not head:
            return None
        (n_outputs,) = NUMBER.unpack(head[len(FORK) :])
        payload, reply, tracker, server, *rest = descriptors
        return cls(
            payload=payload,
            reply=reply,
            tracker=tracker,
            server=server,
            outputs=tuple(rest[:n_outputs]),
            inherited=tuple(rest[n_outputs:]),
        )

    def close(self) -> None:
        """Close all of them in this process."""
        for descriptor in (self.payload, self.reply, self.tracker, self.server):
            os.close(descriptor)
        for descriptor in (*self.outputs, *self.inherited):
            os.close(descriptor)


def packed(circumstances: Circumstances) -> bytes:
    """The head of a payload."""
    content = pickle.dumps(circumstances)
    return NUMBER.pack(len(content)) + content


def unpacked(payload: int) -> Circumstances:
    """Read the head of a payload, and not a byte more."""
    (length,) = NUMBER.unpack(_read(payload, NUMBER.size))
    circumstances = pickle.loads(_read(payload, length))  # noqa: S301  # from our parent
    assert isinstance(circumstances, Circumstances)  # noqa: S101  # what was packed
    return circumstances


def _read(descriptor: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        part = os.read(descriptor, length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def tell(reply: socket.socket, number: int, descriptors: Sequence[int] = ()) -> None:
    """Tell an asker a number; one that is gone need not hear it."""
    try:
        if descriptors:
            socket.send_fds(reply, [NUMBER.pack(number)], descriptors)
        else:
            reply.send(NUMBER.pack(number))
    except OSError:
        return
