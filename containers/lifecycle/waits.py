"""What starts and stops wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from containers.lifecycle.holder import Holder
from containers.lifecycle.record import State


async def first_failure(
    holders: Sequence[Holder], timeout_s: float | None
) -> Holder | None:
    """Wait until all are ready, which gives ``None``, or there is one to blame."""
    await asyncio.wait(
        [holder.settled for holder in holders],
        timeout=timeout_s,
        return_when=asyncio.FIRST_EXCEPTION,
    )
    failed = next((holder for holder in holders if holder.error is not None), None)
    if failed is None and (failed := slowest(holders)):
        failed.fail(TimeoutError(f"the start was not done after {timeout_s:g} s"))
    return failed


def slowest(holders: Iterable[Holder]) -> Holder | None:
    """A holder that is not ready yet, the lowest of those that have begun."""
    late = [holder for holder in holders if not holder.settled.done()]
    starting = (h for h in late if h.record.state is State.STARTING)
    return next(starting, late[0] if late else None)


async def all_closed(holders: Iterable[Holder]) -> asyncio.CancelledError | None:
    """Wait until all are closed, through cancellations; the last one is returned."""
    cancelled = None
    while still_open := [h.closed for h in holders if not h.closed.done()]:
        try:
            await asyncio.wait(still_open)
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
