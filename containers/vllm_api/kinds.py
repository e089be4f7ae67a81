"""What a setting takes: a small language of types that can be read, shown and checked.

Python's own annotations say the same, but vLLM's are out of reach without importing it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from containers.vllm_api.ranges import Range

ScalarType = type[bool] | type[int] | type[float] | type[str]

WORDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
}


@dataclass(frozen=True)
class Anything:
    """No more is known than that a value is wanted."""


@dataclass(frozen=True)
class Null:
    """``null`` alone."""


@dataclass(frozen=True)
class Scalar:
    """One value of a plain type.

    Attributes:
        type: ``bool``, ``int``, ``float`` (a whole number will do) or ``str``.
        is_secret: Whether it must never be shown.
        range: Bounds of a number.
    """

    type: ScalarType
    is_secret: bool = False
    range: Range | None = None


@dataclass(frozen=True)
class Choice:
    """One of a few values.

    Attributes:
        values: Those values.
        ignores_case: Whether text may be in capitals or not, as for enum members.
    """

    values: tuple[Any, ...]
    ignores_case: bool = False


@dataclass(frozen=True)
class ListOf:
    """Any number of values of a kind; also what vLLM wants as a set or tuple."""

    item: Kind


@dataclass(frozen=True)
class MappingOf:
    """A mapping of free keys to values of a kind."""

    item: Kind


@dataclass(frozen=True)
class Record:
    """A mapping of known keys.

    Attributes:
        name: Its class.
        read: Gives the kind of each key when it is first asked for.
    """

    name: str
    read: Callable[[], Mapping[str, Kind]] = field(compare=False, repr=False)

    @cached_property
    def fields(self) -> Mapping[str, Kind]:
        """The kind of each key."""
        return self.read()


@dataclass(frozen=True)
class OneOf:
    """A value of either kind."""

    options: tuple[Kind, ...]


@dataclass(frozen=True)
class Opaque:
    """An object no text can stand for, such as a class or a function."""

    name: str


Kind = Anything | Null | Scalar | Choice | ListOf | MappingOf | Record | OneOf | Opaque

ANYTHING, NULL = Anything(), Null()
TEXT = Scalar(str)


def one_of(*options: Kind) -> Kind:
    """Either of these, without repetitions; anything if one of them is that."""
    flat: list[Kind] = []
    for option in options:
        flat += option.options if isinstance(option, OneOf) else (option,)
    unique = tuple(dict.fromkeys(flat))
    if ANYTHING in unique:
        return ANYTHING
    return unique[0] if len(unique) == 1 else OneOf(unique)


def within(kind: Kind, bounds: Range) -> Kind:
    """The same kind, its numbers within a range."""
    return one_of(*(_bounded(option, bounds) for option in options_of(kind)))


def _bounded(kind: Kind, bounds: Range) -> Kind:
    if isinstance(kind, Scalar) and kind.type in (int, float):
        return replace(kind, range=bounds)
    return kind


def is_within(kind: Scalar, value: Any) -> bool:
    """Whether a value of the right type is within the kind's range, if it has one."""
    return kind.range is None or kind.range.allows(value)


def options_of(kind: Kind) -> tuple[Kind, ...]:
    """The kinds a value may be of, one by one."""
    return kind.options if isinstance(kind, OneOf) else (kind,)


def is_secret(kind: Kind | None) -> bool:
    """Whether a value of this kind, or one inside it, must never be shown."""
    for option in options_of(kind) if kind is not None else ():
        if isinstance(option, Scalar) and option.is_secret:
            return True
        if isinstance(option, ListOf | MappingOf) and is_secret(option.item):
            return True
    return False


def inner(kind: Kind, part: int | str) -> Kind | None:
    """Kind of a key's or an index' value; ``None`` when there can be none."""
    for option in options_of(kind):
        if isinstance(option, Anything):
            return ANYTHING
        if isinstance(option, Record) and part in option.fields:
            return option.fields[str(part)]
        if isinstance(option, ListOf) and isinstance(part, int):
            return option.item
        if isinstance(option, MappingOf):
            return option.item
    return None


def in_words(kind: Kind) -> str:
    """What a value of the kind is, such as ``a whole number or nothing (null)``."""
    phrases = [phrase for option in options_of(kind) for phrase in _phrases(option)]
    unique = list(dict.fromkeys(phrases))
    if len(unique) == 1:
        return unique[0]
    return f"{', '.join(unique[:-1])} or {unique[-1]}"


def _phrases(kind: Kind) -> list[str]:  # noqa: PLR0911  # one for each kind
    match kind:
        case Scalar():
            bounds = f" {kind.range.in_words()}" if kind.range else ""
            return [WORDS[kind.type] + bounds]
        case Choice():
            return [repr(value) for value in kind.values]
        case ListOf():
            return ["a list"]
        case MappingOf() | Record():
            return ["a mapping of keys to values"]
        case Null():
            return ["nothing (null)"]
        case Opaque():
            return [f"a {kind.name} made in Python"]
        case _:
            return ["anything"]
