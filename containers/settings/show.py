"""Settings as YAML, each value with where it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import SecretStr

from containers.settings.engine import SHARED_WITH_CHAT
from containers.settings.location import Location
from containers.settings.origin import DEFAULT, Origins
from containers.settings.root import Settings
from containers.settings.secrets import hidden
from containers.settings.section import Section

BY_VLLM = "vLLM"
_INDENT = "  "
_MAX_COLUMN = 60

Effective = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of settings as YAML.

    Attributes:
        text: The line, indented.
        comment: Where its value came from; empty for the head of a section.
    """

    text: str
    comment: str = ""


def shown(settings: Settings, effective: Sequence[Effective] = ()) -> str:
    """The settings as YAML, where each value came from as a comment beside it.

    Secrets are masked.

    Args:
        settings: The settings.
        effective: For each model, what vLLM made of its engine arguments; empty to
            show the settings alone.
    """
    lines = shown_lines(settings, effective)
    longest = max(len(line.text) for line in lines if line.comment)
    column = min(longest, _MAX_COLUMN)
    return "\n".join(
        f"{line.text:<{column}}  # {line.comment}" if line.comment else line.text
        for line in lines
    )


def shown_lines(settings: Settings, effective: Sequence[Effective] = ()) -> list[Line]:
    """The lines of :func:`shown`, each by itself; secrets are masked.

    Args:
        settings: The settings.
        effective: As for :func:`shown`.
    """
    return list(_Printer(settings.origins, effective).section(settings, (), ""))


class _Printer:
    def __init__(self, origins: Origins, effective: Sequence[Effective]) -> None:
        self._origins = origins
        self._effective = effective

    def section(
        self, section: Section, location: Location, indent: str
    ) -> Iterator[Line]:
        for name in type(section).model_fields:
            value = getattr(section, name)
            if name == "names" and len(value) == 1:
                continue  # the same as name
            yield from self._entry(name, value, (*location, name), indent)

    def _entry(
        self, key: Any, value: Any, location: Location, indent: str
    ) -> Iterator[Line]:
        head = f"{indent}{_scalar(key)}:"
        if isinstance(value, Section):
            yield Line(head)
            yield from self.section(value, location, indent + _INDENT)
        elif _is_listed(value):
            yield Line(head)
            for index, each in enumerate(value):
                item = self._item(each, (*location, index), indent)
                yield from _as_item(item, indent)
        elif location[-1:] == ("engine",):
            yield from self._engine(head, value, location, indent)
        elif isinstance(value, dict) and value:
            yield Line(head)
            for inner, each in value.items():
                place = (*location, inner)
                yield from self._entry(inner, each, place, indent + _INDENT)
        else:
            shown = _flow(hidden(str(key), value))
            yield Line(f"{head} {shown}", self._origin(location))

    def _item(self, item: Any, location: Location, indent: str) -> Iterator[Line]:
        if isinstance(item, Section):
            return self.section(item, location, indent + _INDENT)
        text = f"{indent}{_INDENT}{_flow(hidden(str(location[-2]), item))}"
        return iter([Line(text, self._origin(location))])

    def _engine(
        self, head: str, value: dict[str, Any], location: Location, indent: str
    ) -> Iterator[Line]:
        index = location[1]
        resolved = (
            hidden("", dict(self._effective[int(index)])) if self._effective else {}
        )
        if not value and not resolved:
            yield Line(f"{head} {{}}", self._origin(location))
            return
        yield Line(head)
        for key in sorted({*value, *resolved}):
            place = (*location, key)
            if key in value:
                lines = list(self._entry(key, value[key], place, indent + _INDENT))
                if key in resolved and _flow(resolved[key]) != _flow(value[key]):
                    made = f"{lines[-1].comment}; {BY_VLLM}: {_flow(resolved[key])}"
                    lines[-1] = Line(lines[-1].text, made)
                yield from lines
            else:
                text = f"{indent}{_INDENT}{key}: {_flow(resolved[key])}"
                yield Line(text, BY_VLLM)

    def _origin(self, location: Location) -> str:
        found = self._origins.of(location)
        if found is None and location[-1:] and location[-1] in SHARED_WITH_CHAT:
            other = {"chat": "engine", "engine": "chat"}.get(str(location[-2]), "")
            found = self._origins.of((*location[:-2], other, location[-1]))
        if found is None and location[-1:] == ("name",):
            found = self._origins.of((*location[:-1], "names"))
        if found is None:
            return DEFAULT
        texts = [str(found)]
        index = 0
        while (item := self._origins.of((*location, index))) is not None:
            texts += [f"${{{name}}}" for name in item.variables]
            index += 1
        return ", ".join(dict.fromkeys(texts))


def _is_listed(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(each, Section) for each in value
    )


def _as_item(lines: Iterator[Line], indent: str) -> Iterator[Line]:
    for number, line in enumerate(lines):
        text = line.text
        if number == 0:
            text = f"{indent}- {text.removeprefix(indent + _INDENT)}"
        yield Line(text, line.comment)


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, str) and "\n" in value:
        # YAML reads it as the same.
        text = json.dumps(value, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace").decode()
    text = yaml.safe_dump(
        _plain(value), default_flow_style=True, width=float("inf"), allow_unicode=True
    )
    return text.removesuffix("...\n").rstrip("\n").replace("\n", " ")


def _scalar(key: Any) -> str:
    return key if isinstance(key, str) and key.isidentifier() else _flow(key)


def _plain(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(each) for each in value]
    is_plain = value is None or isinstance(value, bool | int | float | str)
    return value if is_plain else str(value)
