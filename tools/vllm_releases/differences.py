"""What changed between two releases in everything that the door uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tools.vllm_releases.signatures import (
    REQUIRED,
    Signature,
    fields,
    members,
    signature,
)
from tools.vllm_releases.source import Place, Source

FRONT_END = ("BaseFrontendArgs", "FrontendArgs")
"""Classes of front-end arguments, beside ``make_arg_parser``."""

PARSER = "make_arg_parser"
ENGINE_ARGUMENTS = "AsyncEngineArgs"
MEMBERS_OF = ("EngineClient", "AsyncLLM")
MODELS = ("Request", "Response", "Error")
"""Ends of names of what travels over HTTP: vLLM's business, so told last."""


@dataclass(frozen=True, slots=True)
class Side:
    """One release.

    Attributes:
        source: Its files.
        places: Module and attribute of each of the door's names.
    """

    source: Source
    places: Mapping[str, tuple[str, str]]

    def find(self, name: str) -> Place | None:
        """A name's definition, at its own place or wherever the release has it now."""
        module, attribute = self.places[name]
        found = self.source.find(module, attribute)
        if found is not None or self.source.offers(module, attribute):
            return found
        elsewhere = self.source.defining(attribute)
        return self.source.find(elsewhere[0], attribute) if elsewhere else None


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of the report under one heading."""

    heading: str
    lines: tuple[str, ...]


def differences(old: Side, new: Side) -> list[Section]:
    """Everything that changed, the most pressing first; without what did not."""
    names = [name for name in old.places if old.find(name)]
    models = [name for name in names if name.endswith(MODELS)]
    called = [name for name in names if name not in {*models, ENGINE_ARGUMENTS}]
    sections = [
        _section("Names", (_place(name, old, new) for name in names)),
        _section("Calls", (_call(name, old, new) for name in called)),
        _section("Members", (_members(name, old, new) for name in MEMBERS_OF)),
        _section("Engine arguments", [_fields([ENGINE_ARGUMENTS], old, new)]),
        _section("Front-end arguments", [_fields(FRONT_END, old, new)]),
        _section("Requests and answers", (_call(name, old, new) for name in models)),
    ]
    return [section for section in sections if section.lines]


def _section(heading: str, parts: Iterable[Iterable[str]]) -> Section:
    return Section(heading, tuple(chain.from_iterable(parts)))


def _place(name: str, old: Side, new: Side) -> Iterator[str]:
    before = old.places[name]
    if new.source.offers(*before):
        return
    known = new.places[name]
    modules = [known[0]] if new.source.offers(*known) else []
    modules = modules or new.source.defining(before[1])
    fate = f"moved to {' or '.join(modules)}" if modules else "is gone"
    yield f"{name}: {'.'.join(before)} {fate}"


def _call(name: str, old: Side, new: Side) -> Iterator[str]:
    before, after = old.find(name), new.find(name)
    if before and after:
        changed = _changed(signature(old.source, before), signature(new.source, after))
        yield from _under(name, changed)


def _members(name: str, old: Side, new: Side) -> Iterator[str]:
    before, after = old.find(name), new.find(name)
    if not before or not after:
        return
    theirs, now = members(old.source, before), members(new.source, after)
    yield from _under(name, _changed(_names(theirs), _names(now)))
    for member in (each for each in theirs if each in now):
        yield from _under(f"{name}.{member}", _changed(theirs[member], now[member]))


def _names(found: Mapping[str, Signature]) -> Signature:
    return dict.fromkeys(found, "")


def _fields(names: Sequence[str], old: Side, new: Side) -> Iterator[str]:
    yield from _changed(_all_fields(names, old), _all_fields(names, new))


def _all_fields(names: Sequence[str], side: Side) -> Signature:
    places = filter(None, (_beside(side, name) for name in names))
    return {
        name: default
        for place in places
        for name, default in fields(side.source, place).items()
    }


def _beside(side: Side, name: str) -> Place | None:
    if name in side.places:
        return side.find(name)
    parser = side.find(PARSER)
    return side.source.find(parser.module, name) if parser else None


def _under(name: str, lines: Iterator[str]) -> Iterator[str]:
    found = [f"  {line}" for line in lines]
    yield from [name, *found] if found else []


def _changed(before: Signature | None, after: Signature | None) -> Iterator[str]:
    before, after = before or {}, after or {}
    for name in [*before, *(each for each in after if each not in before)]:
        if name not in after:
            yield f"- {_written(name, before[name])}"
        elif name not in before:
            yield f"+ {_written(name, after[name])}"
        elif before[name] != after[name]:
            yield f"~ {name}: {_short(before[name])} became {_short(after[name])}"


def _written(name: str, default: str) -> str:
    if default in {"", REQUIRED}:
        return f"{name} (required)" if default else name
    return f"{name} = {_short(default)}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004  # a line's rest
