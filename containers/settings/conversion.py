"""A text from the environment as a value of the kind its key takes."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from containers.vllm_api.kinds import (
    Anything,
    Choice,
    Kind,
    ListOf,
    MappingOf,
    Record,
    Scalar,
    in_words,
    options_of,
)

_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]{0,30})", re.ASCII)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


class UnfitError(ValueError):
    """The text is not what the key takes; ``str()`` says what that is, not the text."""


def converted(text: str, kind: Kind) -> Any:
    """Make a value of a text, by the declared kind alone, never by the text's look.

    Where text is taken it stays as it is. A truth value is ``true``, ``false``, ``1``
    or ``0``; a number is written in decimal digits, a whole one without leading zeros.

    Raises:
        UnfitError: It is no such value.
    """
    options = options_of(kind)
    if any(_takes_text(each) for each in options):
        return text
    for option in options:
        if isinstance(option, Choice):
            for value in option.values:
                if str(value) == text or _same_member(option, value, text):
                    return value
        elif isinstance(option, Scalar):
            value = _scalar(text, option.type)
            if value is not None:
                return value
    raise UnfitError(in_words(kind))


def structure(text: str, kind: Kind) -> Any:
    """Make a list or mapping of JSON text, or any other value as :func:`converted`.

    Raises:
        UnfitError: It is neither.
    """
    wanted = [
        list if isinstance(each, ListOf) else dict
        for each in options_of(kind)
        if isinstance(each, ListOf | MappingOf | Record)
    ]
    try:
        return converted(text, kind)
    except UnfitError:
        if not wanted:
            raise
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, tuple(wanted)):
        return value
    raise UnfitError(f"{in_words(kind)}, written as JSON")


def _takes_text(kind: Kind) -> bool:
    is_text = isinstance(kind, Scalar) and kind.type is str
    return is_text or isinstance(kind, Anything)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _same_member(kind: Choice, value: Any, text: str) -> bool:
    is_text = isinstance(value, str)
    return kind.ignores_case and is_text and value.casefold() == text.casefold()


def _scalar(text: str, wanted: type) -> Any:
    if wanted is bool:
        return _TRUTH.get(text)
    if wanted is int:
        return int(text) if _WHOLE.fullmatch(text) else None
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None
