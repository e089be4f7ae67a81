"""The commands of a shell text: its words, without quotes and comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Container

from containers.errors import SettingsError

DOLLAR = "\ue000"
"""A dollar that is one; any other begins ``${NAME}``."""

VARIABLE = "\ue002"
"""The dollar of a ``${NAME}`` that was filled in before a shell saw it."""

UNKNOWN = "\ue001"
"""What a shell alone could fill in, such as the output of a command."""

ARGUMENTS = "${@}"
"""All arguments of the script."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FILLABLE = re.compile(r"[A-Za-z_]\w*(:?[-?].*)?", re.ASCII | re.DOTALL)
_CONTINUED = re.compile(r"\\[ \t\r]*\n")
_NEXT_OPTION = re.compile(r"\s*\n\s*-")
_ESCAPED_IN_QUOTES = frozenset('"\\$`')


def commands(text: str, known: Container[str] = ()) -> list[list[str]]:
    """Split a text at what ends a command, and each command into its words.

    Redirections are left out. A line that begins with an option goes on with the
    command before it, as in texts that lost their backslashes.

    Args:
        text: The text.
        known: Variables that are there: ``$(NAME)`` is one of them, as Kubernetes
            writes it, and a command otherwise.

    Returns:
        The commands that have words. A dollar is :data:`DOLLAR`, or begins ``${NAME}``,
        ``${NAME:-default}``, ``${NAME:?message}`` or ``${@}``.

    Raises:
        SettingsError: A quote is open.
    """
    reader = _Reader(text, known)
    reader.read()
    return [command for command in reader.commands if command]


class _Reader:
    def __init__(self, text: str, known: Container[str]) -> None:
        self._text = text
        self._known = known
        self._at = 0
        self._word: str | None = None
        self._is_redirected = False
        self.commands: list[list[str]] = [[]]

    def read(self) -> None:
        by_character: dict[str, Callable[[], None]] = {
            **dict.fromkeys(" \t\r", self._end_word),
            **dict.fromkeys(";|()", self._end_command),
            **dict.fromkeys("<>", self._redirect),
            "\n": self._end_line,
            "&": self._ampersand,
            "\\": self._backslash,
            "'": self._single_quotes,
            '"': self._double_quotes,
            "$": self._dollar,
            "`": self._backquotes,
            "#": self._hash,
        }
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            action = by_character.get(character)
            if action is None:
                self._add(character)
            else:
                action()
        self._end_command()

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _end_word(self) -> None:
        if self._word is not None:
            if not self._is_redirected:
                self.commands[-1].append(self._word)
            self._is_redirected = False
        self._word = None

    def _end_command(self) -> None:
        is_array = self._text[self._at - 1 : self._at] == "("
        if is_array and self._word is not None and self._word.endswith("="):
            self._up_to(")", nested="(")
            self._add(UNKNOWN)
            return
        self._end_word()
        self._is_redirected = False
        self.commands.append([])

    def _end_line(self) -> None:
        self._end_word()
        if not _NEXT_OPTION.match(self._text, self._at - 1):
            self._end_command()

    def _ampersand(self) -> None:
        if self._text.startswith(">", self._at):
            self._redirect()
        else:
            self._end_command()

    def _redirect(self) -> None:
        if self._word is not None and self._word.isdigit():
            self._word = None  # the number of a stream
        self._end_word()
        while self._text[self._at : self._at + 1] in {"<", ">", "&"}:
            self._at += 1
        self._is_redirected = True

    def _backslash(self) -> None:
        continued = _CONTINUED.match(self._text, self._at - 1)
        if continued:
            self._at = continued.end()
            self._end_word()
            return
        self._add(_literal(self._text[self._at : self._at + 1]))
        self._at += 1

    def _hash(self) -> None:
        if self._word is not None:
            self._add("#")
            return
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _single_quotes(self) -> None:
        self._add(_literal(self._up_to("'")))

    def _double_quotes(self) -> None:
        self._add("")
        while True:
            character = self._text[self._at : self._at + 1]
            self._at += 1
            if not character:
                raise _open('"')
            if character == '"':
                return
            if character == "$":
                self._dollar()
            elif character == "`":
                self._backquotes()
            elif character == "\\":
                self._backslash_in_quotes()
            else:
                self._add(character)

    def _backslash_in_quotes(self) -> None:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        if character == "\n":
            return
        self._add(
            _literal(character) if character in _ESCAPED_IN_QUOTES else f"\\{character}"
        )

    def _backquotes(self) -> None:
        self._up_to("`")
        self._add(UNKNOWN)

    def _dollar(self) -> None:
        character = self._text[self._at : self._at + 1]
        name = _NAME.match(self._text, self._at)
        if name:
            self._at = name.end()
            self._add(f"${{{name.group()}}}")
        elif character in {"{", "("}:
            self._at += 1
            self._add(self._braced(character))
        elif character in {"@", "*"}:
            self._at += 1
            self._add(ARGUMENTS)
        elif character.isdigit() or character in {"#", "?", "!", "$", "-"}:
            self._at += 1
            self._add(UNKNOWN)
        else:
            self._add(DOLLAR)

    def _braced(self, opening: str) -> str:
        inside = self._up_to("}" if opening == "{" else ")", nested=opening)
        is_command = opening == "(" and inside not in self._known
        if is_command or not _FILLABLE.fullmatch(inside):
            return ARGUMENTS if opening == "{" and inside in {"@", "*"} else UNKNOWN
        return f"${{{inside}}}"

    def _up_to(self, end: str, nested: str = "") -> str:
        start, depth = self._at, 1
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            depth += (character == nested) - (character == end)
            if not depth:
                return self._text[start : self._at - 1]
        raise _open(end)


def _literal(text: str) -> str:
    return text.replace("$", DOLLAR)


def _open(end: str) -> SettingsError:
    return SettingsError(
        reason=f"the command cannot be read: a {end} is missing",
        hint="Close the quote or bracket.",
    )
