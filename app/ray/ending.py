"""Learning that Ray Serve has told this replica to end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

LOOK_EVERY_S = 0.1


async def when_told_to_end(act: Callable[[], Awaitable[None]]) -> None:
    """Wait until Ray ends this replica, then act; it waits for requests meanwhile.

    Ray waits for the requests in flight for as long as it takes, and calls the
    replica's own end only then, or kills it when the time is up. So it is the replica
    that has to end them when theirs is.

    Args:
        act: Called once.

    Source:
        ray/serve/_private/replica.py ``Replica`` (2.60), whose flag this is.
    """
    replica = _replica()
    while not getattr(replica, "_shutting_down", False):  # noqa: ASYNC110  # nothing tells
        await asyncio.sleep(LOOK_EVERY_S)
    await act()


def _replica() -> Any:
    """Ray's side of this replica; ``None`` where it is not to be found."""
    from ray._private.worker import global_worker

    (actor,) = global_worker.actors.values() or (None,)
    return getattr(actor, "_replica_impl", None)
