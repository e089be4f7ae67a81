"""A tokenizer that takes its time, for tests of what goes on meanwhile."""

from __future__ import annotations

import time
from copy import copy
from typing import Any, TypeVar

T = TypeVar("T")


def slow_tokenizer(tokenizer: T, *, delay_s: float = 0.05) -> T:
    """Make a copy of a tokenizer that blocks its thread before it encodes.

    Override a container's ``tokenizer`` with it to see that an app answers while
    prompts are tokenized, and that requests wait for one another no longer than they
    have to.

    Args:
        tokenizer: A tokenizer of transformers; it is not changed.
        delay_s: Seconds each call of ``encode`` and of the tokenizer itself blocks.

    Returns:
        A copy that gives the same tokens.
    """

    class Slow(type(tokenizer)):  # type: ignore[misc]  # known at run time alone
        def encode(self, *args: Any, **options: Any) -> Any:
            time.sleep(delay_s)
            return super().encode(*args, **options)

        def __call__(self, *args: Any, **options: Any) -> Any:
            time.sleep(delay_s)
            return super().__call__(*args, **options)

    slow = copy(tokenizer)
    slow.__class__ = Slow
    return slow
