"""Every request a fake engine saw, and the switches that act on the running ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from containers.testing.call import Call
from containers.testing.requests import RecordedRequest, RequestState

PauseMode = Literal["abort", "wait", "keep"]


class Ledger:
    """Requests by the order of their coming; running ones can be ended or paused."""

    def __init__(self) -> None:
        self.aborted: list[str] = []
        self.is_dead = False
        self.is_paused = False
        self._calls: list[Call] = []
        self._running: list[Call] = []

    @property
    def records(self) -> list[RecordedRequest]:
        """What was asked so far, each as it stands now."""
        return [call.record for call in self._calls]

    @property
    def n_unfinished(self) -> int:
        """Answers still to be completed, an ``n`` of 3 counting three."""
        return sum(call.n for call in self._running)

    def open(self, request: RecordedRequest, *, n: int) -> Call:
        """Note a request that has just come."""
        call = Call(request, n=n, is_paused=lambda: self.is_paused)
        self._calls.append(call)
        return call

    def run(self, call: Call) -> None:
        """Note that it was admitted."""
        self._running.append(call)

    def close(self, call: Call, state: RequestState) -> None:
        """Note how it ended; only the first time counts."""
        if call.state != "running":
            return
        call.end(state)
        if call in self._running:
            self._running.remove(call)
        if state == "aborted":
            self.aborted.append(call.request.request_id)

    def abort(self, request_ids: Iterable[str] | None = None) -> None:
        """End running requests early, those with these ids or all of them."""
        wanted = None if request_ids is None else set(request_ids)
        for call in list(self._running):
            if wanted is None or call.request.request_id in wanted:
                call.interrupt("abort")
                self.close(call, "aborted")

    def die(self) -> None:
        """End the engine: what runs fails, what comes is refused."""
        self.is_dead = True
        for call in list(self._running):
            call.interrupt("death")

    async def pause(self, mode: PauseMode) -> None:
        """Stop generating; running requests are aborted, awaited or kept waiting."""
        running = list(self._running)
        if mode == "abort":
            self.abort()
        for call in running:
            call.ignores_pause = mode == "wait"
        self.is_paused = True
        if mode == "wait":
            for call in running:
                await call.ended()

    def resume(self) -> None:
        """Generate again."""
        self.is_paused = False
        for call in list(self._running):
            call.resume()

    def forget(self) -> None:
        """Drop the records of requests that have ended, and the list of aborts."""
        self._calls = list(self._running)
        self.aborted = []
