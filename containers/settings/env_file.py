"""``.env`` files: variables for placeholders, read only when asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from containers.errors import SettingsError
from containers.settings.yaml_file import text_of

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.ASCII)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def read_env_files(paths: Iterable[Path]) -> dict[str, str]:
    """Read several files; of a name the last one counts.

    Raises:
        SettingsError: As for :func:`read_env_file`.
    """
    found: dict[str, str] = {}
    for path in paths:
        found |= read_env_file(path)
    return found


def read_env_file(path: Path) -> dict[str, str]:
    r"""Read ``NAME=value`` lines.

    Blank lines and those that begin with ``#`` say nothing, ``export`` in front is
    passed over. A value in double quotes may hold ``\n``, ``\t``, ``\"``, ``\\`` and
    ``\$``; one in single quotes is taken as it is; any other ends before `` #``.

    Raises:
        SettingsError: The file cannot be read, or a line is none of these; the text
            names file and line and shows nothing of it.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(stripped)
        value = _value(match.group(2)) if match else None
        if match is None or value is None:
            raise SettingsError(
                file=str(path),
                line=number,
                reason="is not NAME=value" if match is None else "has an open quote",
                hint="Quote a value on both sides, or not at all.",
            )
        if "\0" in value:
            raise SettingsError(
                file=str(path), line=number, reason="holds a null character"
            )
        found[match.group(1)] = value
    return found


def _value(text: str) -> str | None:
    quote = text[:1]
    if quote == "'":
        match = re.fullmatch(r"'([^']*)'\s*(#.*)?", text)
        return match.group(1) if match else None
    if quote == '"':
        match = re.fullmatch(r'"((?:[^"\\]|\\.)*)"\s*(#.*)?', text)
        return _unescaped(match.group(1)) if match else None
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip()


def _unescaped(text: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return _ESCAPES.get(match.group(1), match.group())

    return re.sub(r"\\(.)", escaped, text)
