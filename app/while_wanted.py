"""Work that goes on only while somebody wants its outcome."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType

from starlette.types import Receive

from app.flights import Flights

LISTEN_AFTER_S = 0.05
"""Seconds after which it is worth to listen for the client's end.

A task that listens costs a short request, which is over by then, 7 % of its time.
"""


class ClientGoneError(Exception):
    """The client closed its connection before its answer was made."""


class CutError(Exception):
    """The answer was ended because the server is shutting down."""


class WhileWanted:
    """A block of work that is cancelled when its client goes or the server must stop.

    It works like ``asyncio.timeout``: the block runs in the task that enters it, and
    after a moment one task beside it listens. That one listens on ASGI's ``receive``,
    not on ``Request.is_disconnected``, which a ``BaseHTTPMiddleware`` of the host keeps
    from ever turning true.

    Args:
        receive: ASGI's ``receive`` of a request whose body has been read.
        flights: The app's requests in flight, which may be cut.

    Raises:
        ClientGoneError: At the end of the block: the client went before it.
        CutError: At the end of the block: the requests in flight were cut before it.
    """

    def __init__(self, receive: Receive, flights: Flights) -> None:
        self._receive = receive
        self._flights = flights
        self._outcome: Exception | None = None

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine that runs has one
        self._task = task
        self._n_cancelled = task.cancelling()
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(LISTEN_AFTER_S, self._listen)
        self._watcher: asyncio.Task[None] | None = None
        self._flights.tell_of_cut(self._on_cut)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flights.tell_no_more(self._on_cut)
        self._patience.cancel()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait((self._watcher,))
        if self._outcome is not None:
            self._task.uncancel()
        if self._task.cancelling() > self._n_cancelled:
            if error is None:
                # Somebody else's cancellation, which vLLM's objects may swallow.
                raise asyncio.CancelledError
        elif self._outcome is not None and (
            error is None or isinstance(error, asyncio.CancelledError)
        ):
            raise self._outcome from None

    def _listen(self) -> None:
        self._watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        with suppress(Exception):  # a connection that cannot be read is gone
            while (await self._receive())["type"] != "http.disconnect":
                pass
        self._end(ClientGoneError())

    def _on_cut(self) -> None:
        self._end(CutError())

    def _end(self, outcome: Exception) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._task.cancel()
