"""Numbers that look like a model's, the same ones every time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

from containers.errors import InjectionError

_MIDDLE = 127.5


def flat(seed: Sequence[int], size: int) -> list[float]:
    """So many numbers between -1 and 1, always the same for the same seed."""
    n_blocks = math.ceil(size / hashlib.sha256().digest_size)
    blocks = (
        hashlib.sha256(repr((*seed, block)).encode()).digest()
        for block in range(n_blocks)
    )
    numbers = [byte / _MIDDLE - 1 for byte in b"".join(blocks)]
    return numbers[:size]


def unit(numbers: Sequence[float]) -> list[float]:
    """The numbers as a vector of length 1."""
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


def classes(numbers: Sequence[float]) -> list[float]:
    """The numbers as probabilities that sum to 1; a single one as a score, 0 to 1."""
    if len(numbers) == 1:
        return [1 / (1 + math.exp(-numbers[0]))]
    weights = [math.exp(number) for number in numbers]
    return [weight / sum(weights) for weight in weights]


def require_numbers(
    value: Any, *, owner: str, argument: str, may_be_rows: bool = False
) -> None:
    """Refuse what is no list of numbers.

    Args:
        value: What was passed, or returned by what was passed.
        owner: Class it was passed to, for the error.
        argument: Name of the argument.
        may_be_rows: Whether it may also be a list of such lists of one length.

    Raises:
        InjectionError: It is something else.
    """
    rows = [value]
    if may_be_rows and _is_list(value) and any(map(_is_list, value)):
        rows = list(value)
    if not all(map(_is_row, rows)) or len(set(map(len, rows))) > 1:
        other = ", a list of such lists of one length," if may_be_rows else ""
        raise InjectionError(
            owner=owner,
            argument=argument,
            expected=f"a list of numbers{other} or a callable that returns one",
            found=repr(value)[:80],
            hint=f"One number alone is a list of one: {argument}=[0.5].",
        )


def _is_list(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, dict))


def _is_row(value: Any) -> bool:
    return (
        _is_list(value)
        and len(value) > 0
        and all(hasattr(each, "__float__") and not _is_list(each) for each in value)
    )
