"""What is loaded is kept from the garbage collector, and what has gone is not."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from app.heap import THRESHOLDS, freeze_heap, refreezing


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


def test_the_collector_looks_at_nothing_that_is_frozen() -> None:
    freeze_heap()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold() == THRESHOLDS
    assert len(gc.get_objects()) < 10_000


def test_what_a_change_leaves_behind_is_collected() -> None:
    old = Loop()
    gone = weakref.ref(old)
    freeze_heap()
    given = []

    def change(value: int) -> None:
        nonlocal old
        old = Loop()
        given.append(value)

    refreezing(change)(7)
    assert given == [7]
    assert gone() is None
    assert gc.get_freeze_count() > 10_000
