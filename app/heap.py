"""What lives as long as the server, kept out of the garbage collector's way."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable

from containers.vllm_api.forkserver.preloads import WHILE_IMPORTING

THRESHOLDS = (10_000, 20, 20)
"""When to collect: a request makes a thousand objects, which all go by themselves."""

LOOK_S = 1.0
PATIENCE_S = 60.0
"""Seconds to wait for a moment without requests, to collect in what a change left."""


def collect_seldom() -> None:
    """Have few collections until :meth:`Heap.freeze`, in a process of our own.

    At the usual thresholds the imports of a start are interrupted by a thousand
    collections, a sixth of their time, which find next to nothing to free.
    """
    gc.set_threshold(*WHILE_IMPORTING)


class Heap:
    """Objects of this process' own server that the collector need not look at.

    Some 700,000 objects do once a model is loaded, next to none of them garbage. To
    look at them all takes a third of a second, in which no request goes on, every few
    seconds under load. So what is loaded is frozen; after a reload, or whatever else
    replaces it, what that left behind is collected when no request is in flight, and
    its memory given back.

    Args:
        changes: How often what is loaded has changed.
        is_busy: Whether requests are in flight.

    Source:
        vllm/utils/gc_utils.py ``freeze_gc_heap`` (0.32.0).
    """

    def __init__(
        self, *, changes: Callable[[], int], is_busy: Callable[[], bool]
    ) -> None:
        self._changes = changes
        self._is_busy = is_busy
        self._n_seen = 0
        self._n_patient = 0

    def freeze(self) -> None:
        """Let the collector look at nothing that exists now."""
        self._n_seen = self._changes()
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)

    async def tend(self) -> None:
        """Collect what changes have left behind, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        """Collect if anything has changed, unless requests are in flight still."""
        n_changes = self._changes()
        if n_changes == self._n_seen:
            return
        self._n_patient += 1
        if self._is_busy() and self._n_patient * LOOK_S < PATIENCE_S:
            return
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        give_back()
        self._n_seen, self._n_patient = n_changes, 0


def give_back() -> None:
    """Give the system back what memory is free, where the C library can.

    It keeps whatever has something in use above it, some 6 MiB more after each engine.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
