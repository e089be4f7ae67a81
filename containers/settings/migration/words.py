"""A command, cut down to the words that vLLM's parser gets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from containers.errors import SettingsError
from containers.settings.migration.docker import inside_container

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_OPERATORS = frozenset("();<>|&")
_SERVER_MODULE = re.compile(r"vllm\.entrypoints\.[\w.]*api_server[\w.]*")
_SHELLS = frozenset({"sh", "bash", "dash", "ash"})


@dataclass(frozen=True)
class Line:
    """A command that starts vLLM's server.

    Attributes:
        words: What vLLM's parser gets; begins with ``serve`` unless the server was
            started as a Python module.
        environment: Variables that were set for it; ``None`` where the value is not
            in the command.
        notes: What the command says beyond vLLM's options.
        is_literal: Whether a dollar is a dollar, since a shell was there before us.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_literal: bool = True


def line_of_words(
    words: Sequence[str],
    *,
    environment: Mapping[str, str | None] | None = None,
    is_literal: bool = True,
    notes: tuple[str, ...] = (),
) -> Line:
    """Find vLLM's part of a command.

    Args:
        words: ``vllm serve ...``, ``python -m vllm.entrypoints...``, ``docker run
            ...``, one of these in ``sh -c``, or the options alone.
        environment: Variables set for it so far.
        is_literal: Whether a shell has filled in the variables already.
        notes: What is known to be lost.

    Raises:
        SettingsError: It is no command that serves a model.
    """
    variables = dict(environment or {})
    rest = list(words)
    while rest and (match := _ASSIGNMENT.fullmatch(rest[0])):
        variables[match[1]] = match[2]
        del rest[0]
    container = inside_container(rest)
    if container is not None:
        return line_of_words(
            container.words,
            environment={**variables, **container.environment},
            is_literal=is_literal,
            notes=(*notes, *container.notes),
        )
    script = _script(rest)
    if script is not None:
        found = split(script)
        return line_of_words(
            found, environment=variables, is_literal=False, notes=notes
        )
    return Line(tuple(_options(rest)), variables, notes, is_literal)


def split(text: str) -> list[str]:
    """The words of the one command in a shell text that starts vLLM.

    Raises:
        SettingsError: A quote is open.
    """
    joined = re.sub(r"^\s*#.*$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    joined = joined.replace("\n", " ; ") if _is_script(joined) else joined
    lexer = shlex.shlex(joined, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, ""
    commands: list[list[str]] = [[]]
    redirected = False
    try:
        for word in lexer:
            is_operator = set(word) <= _OPERATORS and bool(word)
            if is_operator and set(word) & set("<>"):
                redirected = True
                if word != "&>" and commands[-1][-1:] == ["2"]:
                    commands[-1].pop()
            elif is_operator:
                redirected = False
                commands.append([])
            elif not redirected:
                commands[-1].append(word)
    except ValueError as error:
        raise SettingsError(
            reason=f"the command cannot be read: {str(error).lower()}",
            hint="Close the quote.",
        ) from None
    return max(commands, key=_likeness)


def _is_script(text: str) -> bool:
    """Whether lines are commands of their own, and not one command or its quotes."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all(_is_closed(line) for line in lines)


def _is_closed(line: str) -> bool:
    try:
        shlex.split(line)
    except ValueError:
        return False
    return True


def _likeness(words: Sequence[str]) -> tuple[bool, int]:
    return any("vllm" in word for word in words), len(words)


def _script(words: Sequence[str]) -> str | None:
    if words and words[0].rsplit("/", 1)[-1] in _SHELLS:
        for index, word in enumerate(words[1:-1], start=1):
            if re.fullmatch(r"-[a-z]*c", word):
                return words[index + 1]
    return words[0] if len(words) == 1 and " " in words[0].strip() else None


def _options(words: Sequence[str]) -> list[str]:
    for index, word in enumerate(words):
        name = word.rsplit("/", 1)[-1]
        if name == "vllm" and words[index + 1 : index + 2] == ["serve"]:
            return list(words[index + 1 :])
        if _SERVER_MODULE.fullmatch(word) or name == "api_server.py":
            return list(words[index + 1 :])
        if name == "vllm" and index == 0:
            raise SettingsError(
                reason="the command is not vllm serve",
                hint="Only a server has a config.yaml.",
            )
    if words[:1] == ["serve"]:
        return list(words)
    if not words or (words[0].startswith("-") is False and " " in words[0]):
        raise SettingsError(
            reason="there is no command to import",
            hint="Write it after --, such as -- vllm serve MODEL, or use --from FILE.",
        )
    return ["serve", *words]
