"""Whether values are of the kind a setting takes, and where exactly they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from containers.vllm_api.kinds import (
    Choice,
    Kind,
    ListOf,
    MappingOf,
    Null,
    Opaque,
    Record,
    Scalar,
    in_words,
    is_within,
    options_of,
)

Path = tuple[int | str, ...]
PLAIN = (bool, int, float, str, list, dict)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that is not what its key takes, or a key that does not exist.

    Attributes:
        path: Keys and indices that lead there.
        value: The value.
        expected: What the key takes, in words; empty for an unknown key.
    """

    path: Path
    value: Any
    expected: str = ""


def misfits(kind: Kind, value: Any, path: Path = ()) -> Iterator[Misfit]:
    """Find every value that does not fit, at any depth."""
    options = [option for option in options_of(kind) if _looks_like(option, value)]
    if not options:
        yield Misfit(path, value, in_words(kind))
        return
    # Alternatives of the same look: the one with the fewest misfits was meant.
    yield from min((list(_inside(each, value, path)) for each in options), key=len)


def _looks_like(kind: Kind, value: Any) -> bool:  # noqa: PLR0911  # one for each kind
    match kind:
        case Scalar():
            return _is_scalar(kind.type, value)
        case Choice():
            return _is_choice(kind, value)
        case ListOf():
            return isinstance(value, list | tuple | set | frozenset)
        case MappingOf():
            return isinstance(value, Mapping)
        case Record():
            return isinstance(value, Mapping) or not _is_plain(value)
        case Null():
            return value is None
        case Opaque():
            return not _is_plain(value)
        case _:
            return True


def _is_scalar(wanted: type, value: Any) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    if wanted is float:
        return isinstance(value, int | float)
    return isinstance(value, wanted)


def _is_choice(kind: Choice, value: Any) -> bool:
    if kind.ignores_case and not _is_plain(value):
        return True  # a member of the enum itself, made in Python
    same_type = (each for each in kind.values if type(each) is type(value))
    if kind.ignores_case and isinstance(value, str):
        return value.casefold() in {each.casefold() for each in same_type}
    return value in list(same_type)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, PLAIN)


def _inside(kind: Kind, value: Any, path: Path) -> Iterator[Misfit]:
    if isinstance(kind, Scalar) and not is_within(kind, value):
        yield Misfit(path, value, in_words(kind))
    elif isinstance(kind, ListOf):
        for index, each in enumerate(value):
            yield from misfits(kind.item, each, (*path, index))
    elif isinstance(kind, MappingOf):
        for key, each in value.items():
            yield from misfits(kind.item, each, (*path, key))
    elif isinstance(kind, Record) and isinstance(value, Mapping):
        yield from _inside_record(kind, value, path)


def _inside_record(
    kind: Record, value: Mapping[str, Any], path: Path
) -> Iterator[Misfit]:
    for key, each in value.items():
        if key in kind.fields:
            yield from misfits(kind.fields[key], each, (*path, key))
        else:
            yield Misfit((*path, key), each)
