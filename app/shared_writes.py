"""Writes of a stream that events share while the event loop has no rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from types import TracebackType
from typing import Self

from starlette.types import Send

TURNS = 8
ROUND_S = 0.025
"""How many turns of the event loop are a round, and when it ends with fewer."""

MOST = 64
"""Events that are held: what makes them without a pause is not to go on for ever."""


class Rounds:
    """Counts rounds of the event loop, of a few turns each, while streams write.

    Turns of a loop that has nothing else to do are over in microseconds. Those of a
    loop that cannot keep up take long, and in each of them a stream may have an event.

    They are those of the loop it was asked on last.
    """

    def __init__(self) -> None:
        self._number = 0
        self._n_turns = 0
        self._began_s = 0.0
        self._is_open = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: list[SharedWrites] = []
        self._waiting_since_before: list[SharedWrites] = []

    def current(self) -> int:
        """Number of the round that goes on, which begins now if none does."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._is_open = loop, False
            self._waiting, self._waiting_since_before = [], []  # with the other loop
        if not self._is_open:
            self._is_open = True
            self._begin(loop)
        return self._number

    def wait(self, writes: SharedWrites) -> None:
        """Have what is held from this round on written by the end of the next."""
        self._waiting.append(writes)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._number += 1
        self._n_turns = 0
        self._began_s = loop.time()
        # In nobody's context: that of a request would outlive it, turn by turn.
        loop.call_soon(self._turn, loop, context=Context())

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is not self._loop:
            return  # what waits now is of another
        self._n_turns += 1
        if self._n_turns < TURNS and loop.time() - self._began_s < ROUND_S:
            loop.call_soon(self._turn, loop)
            return
        late, self._waiting_since_before = self._waiting_since_before, self._waiting
        self._waiting = []
        for each in late:
            each.write_late(self._number - 1)
        if self._waiting_since_before:
            self._begin(loop)
        else:
            self._is_open = False


class SharedWrites:
    """Sends events of a stream, one write a round.

    To write to a socket takes longer than all else that is done for a piece of text.
    The first event in a round goes out at once. Others are held, and go out with the
    first one of the next round, or at that round's end. So nothing waits while the loop
    has rest, and for two rounds at the most while it has none.

    Args:
        send: ASGI's ``send`` of a response that has begun.
        sent: Is told each event that was written.
        rounds: Those of the event loop; ``None`` has every event written by itself.
    """

    def __init__(
        self, send: Send, sent: Callable[[bytes], None], rounds: Rounds | None
    ) -> None:
        self._send = send
        self._sent = sent
        self._rounds = rounds
        self._round = 0
        self._held: list[bytes] = []
        self._held_since = 0
        self._is_over = False
        self._is_torn = False
        self._late: asyncio.Task[None] | None = None
        self._context = copy_context()  # a late write is of this request as well

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        if self._late is None:
            return
        try:
            if isinstance(error, Exception):  # what was made before it goes out first
                await asyncio.wait((self._late,))
        finally:
            self._late.cancel()
            await asyncio.gather(self._late, return_exceptions=True)

    async def send(self, event: bytes) -> None:
        """Send an event, or hold it for a moment; a slow reader holds this up."""
        number = self._rounds.current() if self._rounds else self._round + 1
        held = self._held
        held.append(event)
        if number != self._round or len(held) > MOST:
            self._round = number
            await self._write(more=True)
        elif len(held) == 1 and self._rounds:
            self._held_since = number
            self._rounds.wait(self)

    async def end(self) -> None:
        """Send what is held, and that nothing follows."""
        await self._write(more=False)

    def left(self) -> bytes:
        """The events that are held; they count as sent.

        None after a write that was broken off, for a stream has no gap.
        """
        if self._is_torn:
            return b""
        events, self._held = self._held, []
        for event in events:
            self._sent(event)
        return b"".join(events)

    def write_late(self, number: int) -> None:
        """Write what has been held since a round, if it is."""
        if not self._held or self._held_since != number or self._is_over:
            return
        if self._late is None:
            write = self._write_held(more=True)
            self._late = asyncio.create_task(write, context=self._context)

    async def _write(self, *, more: bool) -> None:
        if self._late is not None:
            await self._late
            self._late = None
        await self._write_held(more=more)

    async def _write_held(self, *, more: bool) -> None:
        events, self._held = self._held, []
        if more and not events:
            return
        body = b"".join(events)
        message = {"type": "http.response.body", "body": body, "more_body": more}
        self._is_torn = True
        await self._send(message)
        self._is_torn = False
        for event in events:
            self._sent(event)
