"""Counting reloads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def counted(reloads: Counter[str]) -> Iterator[None]:
    """Count a reload by its outcome: ``done``, or ``refused``."""
    try:
        yield
    except BaseException:
        reloads["refused"] += 1
        raise
    reloads["done"] += 1
