"""``${NAME}`` in a text: environment variables, filled in after YAML was parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_NESTING = 8
_FORMS = "Write ${NAME}, ${NAME:-default}, ${NAME:?message}, or $$ for a dollar."


class PlaceholderError(Exception):
    """A placeholder cannot be filled in.

    Attributes:
        reason: Why, without any variable's value.
        hint: What to do.
    """

    def __init__(self, reason: str, hint: str = _FORMS) -> None:
        self.reason = reason
        self.hint = hint
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its placeholders filled in.

    Attributes:
        text: The text.
        variables: Names of the variables it holds values of, those that were set.
        names: Names of all its placeholders.
    """

    text: str
    variables: tuple[str, ...]
    names: tuple[str, ...]


def filled(text: str, environment: Mapping[str, str]) -> Filled:
    """Fill in a text's placeholders.

    A variable that is set but empty gives an empty text; a default is for one that is
    not set. ``${NAME:?message}`` wants it set and not empty.

    Args:
        text: The text; ``$$`` in it stands for one dollar.
        environment: Values by variable name.

    Raises:
        PlaceholderError: A variable is not set, or something is no placeholder.
    """
    filling = _Filling(environment)
    result = filling.fill(text, 0)
    return Filled(result, tuple(filling.used), tuple(filling.names))


class _Filling:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.used: dict[str, None] = {}
        self.names: dict[str, None] = {}

    def fill(self, text: str, nesting: int) -> str:
        if nesting > _MAX_NESTING:
            raise PlaceholderError("has placeholders inside one another, too deep")
        parts: list[str] = []
        position = 0
        while (dollar := text.find("$", position)) >= 0:
            parts.append(text[position:dollar])
            if text.startswith("${", dollar):
                end = _closing(text, dollar + 2)
                parts.append(self._value(text[dollar + 2 : end], nesting))
                position = end + 1
            else:
                parts.append("$")
                position = dollar + (2 if text.startswith("$$", dollar) else 1)
        return "".join([*parts, text[position:]])

    def _value(self, inside: str, nesting: int) -> str:
        match = _NAME.match(inside)
        if match is None:
            raise PlaceholderError("has a ${ without a variable's name after it")
        name, rest = match.group(), inside[match.end() :]
        if rest and not rest.startswith((":-", ":?")):
            raise PlaceholderError(f"has a placeholder that goes wrong after ${{{name}")
        self.names[name] = None
        value = self._environment.get(name)
        if value is None and rest.startswith(":-"):
            return self.fill(rest[2:], nesting + 1)
        if value is None or (not value and rest.startswith(":?")):
            raise _missing(name, rest[2:], is_set=value is not None)
        self.used[name] = None
        return value


def _missing(name: str, message: str, *, is_set: bool) -> PlaceholderError:
    reason = f"the environment variable {name} is {'empty' if is_set else 'not set'}"
    if message:
        return PlaceholderError(f"{reason}: {message}", f"Set {name}.")
    return PlaceholderError(reason, f"Set it, or write ${{{name}:-default}}.")


def _closing(text: str, start: int) -> int:
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth:
            return position
    raise PlaceholderError("has a ${ without its closing }")
