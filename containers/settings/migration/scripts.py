"""The command of a shell script that starts vLLM, and the variables set before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from containers.errors import SettingsError
from containers.settings.migration.shell import UNKNOWN, commands

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_DECLARE = frozenset({"export", "declare", "local", "readonly", "typeset"})
_SAY_NOTHING = frozenset(
    {"set", "echo", "exit", "wait", "then", "else", "fi", "do", "done", "{", "}"}
)


@dataclass(frozen=True)
class Script:
    """What matters of a shell script.

    Attributes:
        words: The command that starts vLLM.
        environment: Variables set before it; ``None`` where the value is not in the
            script.
        notes: The commands that are left out.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str | None]
    notes: tuple[str, ...] = ()


def read_script(
    text: str,
    environment: Mapping[str, str | None],
    is_it: Callable[[Sequence[str]], bool],
) -> Script:
    """Find the one command of a script that starts vLLM.

    Args:
        text: The script.
        environment: Variables that are set for it.
        is_it: Tells whether a command is the one; a script of one command needs none.

    Raises:
        SettingsError: It has no such command, or several, or cannot be read.
    """
    known = dict(environment)
    found: list[list[str]] = []
    others: list[list[str]] = []
    for command in commands(text, known):
        assigned = _assigned(command)
        if assigned and not found:
            known |= assigned
        else:
            (found if is_it(command) else others).append(command)
    if not found and len(others) == 1:
        found, others = others, []
    if len(found) != 1:
        raise SettingsError(
            reason=f"there are {len(found) or 'no'} commands that start vLLM",
            hint="Keep one of them.",
        )
    names = dict.fromkeys(each[0] for each in others if each[0] not in _SAY_NOTHING)
    note = f"other commands left out: {', '.join(names)}"
    return Script(tuple(found[0]), known, (note,) if names else ())


def _assigned(command: Sequence[str]) -> dict[str, str | None]:
    """Variables that a command sets, if it does nothing else."""
    words = [word for word in command if not word.startswith("-")]
    if command[0] in _DECLARE:
        words = [word for word in words[1:] if "=" in word]
    matches = [_ASSIGNMENT.fullmatch(word) for word in words]
    if not all(matches):
        return {}
    found = [match.groups() for match in matches if match]
    return {name: None if UNKNOWN in text else text for name, text in found}
