"""Clients that keep a server busy and count what it answers.

They speak just enough HTTP on bare sockets to cost far less than what they measure.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import psutil
import uvloop

EVENT = b"data: "
LAST_EVENT = b"data: [DONE]\n\n"
END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "
PATIENCE_S = 60.0
"""How long to wait for an answer at all, on a machine that is busy with others."""
PATH = "/v1/chat/completions"


@dataclass
class Count:
    """What came in a window of time.

    Attributes:
        n_events: Server-sent events, the last ones excepted.
        n_answers: Answers that were complete.
        seconds: How long the window was.
        cpu_s: Seconds of a processor the server took in it.
    """

    n_events: int = 0
    n_answers: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0


def chat(*, n_tokens: int, stream: bool, prompt: str = "What is it?") -> bytes:
    """A request for a chat answer of so many tokens."""
    message = {"role": "user", "content": prompt}
    body = {"messages": [message], "max_tokens": n_tokens, "stream": stream}
    content = json.dumps(body).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: bench\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def get(path: str) -> bytes:
    """A request for a path."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()


def load(
    url: str, *requests: bytes, n_clients: int, seconds: float, pid: int | None = None
) -> Count:
    """Ask with so many clients at a time, each again and again, and count.

    Args:
        url: The server.
        requests: What is asked; the clients share them out.
        n_clients: How many connections.
        seconds: How long; a tenth of it more goes before the count begins. It takes
            longer where no answer has been complete by then.
        pid: The server's process, whose processor time is told if it is given.
    """
    return uvloop.run(_load(url, requests, n_clients, seconds, pid))


async def _load(
    url: str,
    requests: Sequence[bytes],
    n_clients: int,
    seconds: float,
    pid: int | None,
) -> Count:
    address = urlsplit(url)
    loop = asyncio.get_running_loop()
    count = Count()
    opened = [
        await loop.create_connection(
            partial(_Client, requests[number % len(requests)], count),
            str(address.hostname),
            address.port or 80,
        )
        for number in range(n_clients)
    ]
    await asyncio.sleep(seconds / 10)
    count.n_events = count.n_answers = 0
    began, cpu_s = time.perf_counter(), _cpu_s(pid)
    await asyncio.sleep(seconds)
    while not count.n_answers and time.perf_counter() - began < PATIENCE_S:  # noqa: ASYNC110  # seconds, not moments
        await asyncio.sleep(seconds)
    counted = Count(
        count.n_events,
        count.n_answers,
        time.perf_counter() - began,
        _cpu_s(pid) - cpu_s,
    )
    failures = [each.failure for _, each in opened if each.failure]
    for transport, _ in opened:
        transport.abort()
    if failures:
        raise RuntimeError(failures[0])
    return counted


def _cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    return processor_s([psutil.Process(pid)])


def processor_s(processes: Iterable[psutil.Process]) -> float:
    """Seconds of a processor that processes have taken so far."""
    times = [each.cpu_times() for each in processes]
    return float(sum(each.user + each.system for each in times))


class _Client(asyncio.Protocol):
    """One connection, which asks again once it has its answer."""

    def __init__(self, request: bytes, count: Count) -> None:
        self._request = request
        self._count = count
        self._unread = b""
        self.failure = ""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if self._unread.startswith(b"HTTP/1.1 ") and not self._is_ok():
            self.failure = self._unread.decode(errors="replace")
            return
        if self._is_whole():
            self._unread = b""
            self._count.n_answers += 1
            self._transport.write(self._request)

    def _is_ok(self) -> bool:
        return self._unread.startswith(b"HTTP/1.1 200")

    def _is_whole(self) -> bool:
        head, found, rest = self._unread.partition(END_OF_HEAD)
        if not found:
            return False
        place = head.find(LENGTH)
        if place >= 0:
            length = int(head[place + len(LENGTH) :].split(b"\r\n", 1)[0])
            return len(rest) >= length
        return self._is_stream_whole()

    def _is_stream_whole(self) -> bool:
        """Count events, keep the head and what may be a part of the next one."""
        head, _, rest = self._unread.partition(END_OF_HEAD)
        is_whole = LAST_EVENT in rest and rest.endswith(b"0\r\n\r\n")
        n_whole = rest.rfind(EVENT) if not is_whole else len(rest)
        if n_whole > 0:
            self._count.n_events += rest.count(EVENT, 0, n_whole)
            self._unread = head + END_OF_HEAD + rest[n_whole:]
        self._count.n_events -= is_whole
        return is_whole
