"""What lives as long as the server, kept out of the garbage collector's way."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

THRESHOLDS = (10_000, 20, 20)
"""When to collect: a request makes a thousand objects, which all go by themselves."""


def freeze_heap() -> None:
    """Let the collector look at nothing that exists now: this process' own server only.

    Some 700,000 objects do once a model is loaded, next to none of them garbage. To
    look at them all takes a third of a second, in which no request goes on, every few
    seconds under load.

    Source:
        vllm/utils/gc_utils.py ``freeze_gc_heap`` (0.32.0).
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def refreezing(change: Callable[P, None]) -> Callable[P, None]:
    """A change of what is loaded, after which what it left behind is collected."""

    def changed(*args: P.args, **kw: P.kwargs) -> None:
        change(*args, **kw)
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    return changed
