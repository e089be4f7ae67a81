"""What each key means, read from the docstrings of the sections."""

from __future__ import annotations

import inspect
import re
from functools import cache

from pydantic import BaseModel

_HEADING = "Attributes:"
_ENTRY = re.compile(r"    (\w+): (.*)")
_MORE = "        "


@cache
def described_fields(section: type[BaseModel]) -> dict[str, str]:
    """Description of each key of a section and of those it is built on."""
    found: dict[str, str] = {}
    for cls in reversed(section.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            found |= _attributes(inspect.cleandoc(cls.__doc__ or ""))
    return found


def summary(section: type[BaseModel]) -> str:
    """First line of a section's description."""
    return inspect.cleandoc(section.__doc__ or "").partition("\n")[0]


def _attributes(text: str) -> dict[str, str]:
    """Entries of a docstring's ``Attributes:``, each as one line."""
    found: dict[str, str] = {}
    name = ""
    _, heading, body = text.partition(f"{_HEADING}\n")
    for line in body.splitlines() if heading else ():
        entry = _ENTRY.fullmatch(line)
        if entry:
            name, found[entry.group(1)] = entry.group(1), entry.group(2)
        elif name and line.startswith(_MORE):
            found[name] += f" {line.strip()}"
        else:
            break
    return {key: _in_yaml(value) for key, value in found.items()}


def _in_yaml(text: str) -> str:
    """The text with a config file's words for Python's."""
    return text.replace("``None``", "null").replace("``", "`")
