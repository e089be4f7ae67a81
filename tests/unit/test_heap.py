"""What is loaded is kept from the garbage collector, and what has gone is not."""

from __future__ import annotations

import gc
import platform
import weakref
from collections.abc import Iterator

import psutil
import pytest

from app.heap import LOOK_S, PATIENCE_S, THRESHOLDS, Heap, collect_seldom


class Loop:
    """An object that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def heap(*, n_changes: list[int], is_busy: bool = False) -> Heap:
    made = Heap(changes=lambda: sum(n_changes), is_busy=lambda: is_busy)
    made.freeze()
    return made


def test_the_collector_looks_at_nothing_that_is_frozen() -> None:
    heap(n_changes=[])
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold() == THRESHOLDS
    assert len(gc.get_objects()) < 10_000


def test_a_start_of_our_own_is_not_interrupted_until_it_is_ready() -> None:
    collections: list[int] = []
    collect_seldom()
    gc.collect()

    def note(phase: str, info: dict[str, int]) -> None:
        collections.append(info["generation"])

    gc.callbacks.append(note)
    try:
        made = [Loop() for _ in range(20_000)]
    finally:
        gc.callbacks.remove(note)
    assert collections == []
    assert len(made) == 20_000
    heap(n_changes=[])
    assert gc.get_threshold() == THRESHOLDS


def test_what_a_change_leaves_behind_is_collected() -> None:
    old, changes = Loop(), [3]
    gone = weakref.ref(old)
    frozen = heap(n_changes=changes)
    del old
    frozen.look()
    assert gone() is not None
    changes.append(1)
    frozen.look()
    assert gone() is None
    assert gc.get_freeze_count() > 10_000


def test_a_collection_waits_for_a_moment_without_requests_but_not_for_ever() -> None:
    old, changes = Loop(), [0]
    gone = weakref.ref(old)
    frozen = heap(n_changes=changes, is_busy=True)
    del old
    changes.append(1)
    for _ in range(int(PATIENCE_S / LOOK_S) - 1):
        frozen.look()
    assert gone() is not None
    frozen.look()
    assert gone() is None


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc gives it back"
)
def test_memory_that_is_free_goes_back_to_the_system() -> None:
    changes = [0]
    frozen = heap(n_changes=changes)
    pieces = [bytes(8000) for _ in range(20_000)]
    kept = pieces[:: len(pieces) // 50]  # they keep the rest from being given back
    before = psutil.Process().memory_info().rss
    del pieces
    changes.append(1)
    frozen.look()
    assert before - psutil.Process().memory_info().rss > 100 * 2**20
    assert len(kept) == 50
