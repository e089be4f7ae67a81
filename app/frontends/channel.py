"""What two processes of one server ask each other over a socket of theirs alone."""

from __future__ import annotations

import asyncio
import pickle  # between processes of one server
import socket
import struct
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from itertools import count
from typing import Any, Literal

Handler = Callable[..., AsyncGenerator[Any, None]]
"""Called with the arguments of a question; it yields the parts of the answer."""

Kind = Literal["ask", "part", "end", "error", "cancel"]
_LENGTH = struct.Struct("!I")


class ChannelClosedError(Exception):
    """The process at the other end is gone."""


class RefusedError(Exception):
    """What the other process says of a question that it could not answer."""


class Channel:
    """One end of a socket between two processes of one server.

    Args:
        connection: A connected stream socket; it belongs to this from now on.
        handlers: What answers questions, by their name.
    """

    def __init__(
        self, connection: socket.socket, handlers: Mapping[str, Handler]
    ) -> None:
        self._socket = connection
        self._handlers = handlers
        self._numbers = count()
        self._answers: dict[int, asyncio.Queue[tuple[Kind, Any]]] = {}
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._is_open = True
        self._is_running = asyncio.Event()

    async def run(self) -> None:
        """Carry questions and answers until the other end is gone."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._socket)
        self._is_running.set()
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
                    frame = await reader.readexactly(length)
                    self._take(*pickle.loads(frame))  # noqa: S301  # see above
        finally:
            self._close()

    async def stream(self, name: str, *args: Any) -> AsyncGenerator[Any, None]:
        """Ask, and yield the parts of the answer; to close it early ends it there.

        Raises:
            ChannelClosedError: The other process is gone.
            RefusedError: It could not answer.
        """
        await self._is_running.wait()
        number = next(self._numbers)
        parts = self._answers[number] = asyncio.Queue()
        self._send("ask", number, (name, args))
        is_over = False
        try:
            while True:
                kind, value = await parts.get()
                is_over = kind != "part"
                if kind == "error":
                    raise value
                if is_over:
                    return
                yield value
        finally:
            self._answers.pop(number, None)
            if not is_over:
                self._send("cancel", number, None)

    async def call(self, name: str, *args: Any) -> Any:
        """Ask what has one answer, and wait until that is over.

        Raises:
            ChannelClosedError: The other process is gone.
            RefusedError: It could not answer.
        """
        answer = None
        async for part in self.stream(name, *args):
            answer = part
        return answer

    def close(self) -> None:
        """Say no more, and hear no more."""
        if self._writer is not None:
            self._writer.close()
        else:
            self._socket.close()

    def _take(self, kind: Kind, number: int, value: Any) -> None:
        if kind == "ask":
            name, args = value
            task = asyncio.create_task(self._answer(number, name, args))
            self._answering[number] = task
            task.add_done_callback(lambda _: self._answering.pop(number, None))
        elif kind == "cancel":
            if (answering := self._answering.get(number)) is not None:
                answering.cancel()
        elif (parts := self._answers.get(number)) is not None:
            parts.put_nowait((kind, value))

    async def _answer(self, number: int, name: str, args: tuple[Any, ...]) -> None:
        try:
            async with aclosing(self._handlers[name](*args)) as parts:
                async for part in parts:
                    self._send("part", number, part)
                    if self._writer is not None:
                        await self._writer.drain()
        except ConnectionError:
            return
        except Exception as error:  # noqa: BLE001  # it goes to whoever has asked
            self._send("error", number, RefusedError(str(error)))
        else:
            self._send("end", number, None)

    def _send(self, kind: Kind, number: int, value: Any) -> None:
        if not self._is_open:
            if kind == "ask":
                self._answers[number].put_nowait(("error", ChannelClosedError()))
            return
        assert self._writer is not None  # noqa: S101  # it runs
        frame = pickle.dumps((kind, number, value), protocol=5)
        self._writer.write(_LENGTH.pack(len(frame)) + frame)

    def _close(self) -> None:
        self._is_open = False
        self.close()
        for parts in self._answers.values():
            parts.put_nowait(("error", ChannelClosedError()))
        for task in list(self._answering.values()):
            task.cancel()
