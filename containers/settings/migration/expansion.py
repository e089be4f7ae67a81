"""``${NAME}`` in the words of a command, filled in where the command itself says it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from containers.errors import SettingsError
from containers.masks import is_secret_name
from containers.settings.migration.shell import ARGUMENTS, UNKNOWN, VARIABLE

_VARIABLE = re.compile(
    r"\$\{(?P<name>[A-Za-z_]\w*)"
    r"(?:(?P<default_for_empty>:?)-(?P<default>[^{}]*(?:\{[^}]*\}[^{}]*)*)|:?\?[^}]*)?\}",
    re.ASCII,
)


class Expansion:
    """Fills in the variables of a command.

    Args:
        environment: Variables by name; ``None`` for one whose value is not known.

    Attributes:
        notes: Variables whose default was taken.
    """

    def __init__(self, environment: Mapping[str, str | None]) -> None:
        self._environment = environment
        self.notes: list[str] = []

    def words(self, words: Sequence[str]) -> list[str]:
        """The words; a variable without a known value, or a secret, is ``${NAME}``.

        Raises:
            SettingsError: Something in them only a shell can fill in.
        """
        made = [self._word(word.replace(VARIABLE, "$"), ()) for word in words]
        for before, word in zip(["", *made], made, strict=False):
            if UNKNOWN in word or ARGUMENTS in word:
                after = f" after {before}" if before.startswith("--") else ""
                raise SettingsError(
                    reason=f"the command has something{after} that a shell fills in",
                    hint="Write what it stands for.",
                )
        return made

    def _word(self, word: str, within: tuple[str, ...]) -> str:
        def value(match: re.Match[str]) -> str:
            name = match["name"]
            found = self._environment.get(name)
            found = found.replace(VARIABLE, "$") if found else found
            if is_secret_name(name) or name in within:
                return f"${{{name}}}"
            if found is None or (found == "" and match["default_for_empty"]):
                found = match["default"]
                if found is not None and name not in within:
                    self._note(name)
            if found is None:
                return f"${{{name}}}"
            return self._word(found, (*within, name))

        return _VARIABLE.sub(value, word)

    def _note(self, name: str) -> None:
        note = f"{name} is not in the command: its default is written"
        if note not in self.notes:
            self.notes.append(note)
