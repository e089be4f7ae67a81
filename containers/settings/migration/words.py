"""A command, cut down to the words that vLLM's parser gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from containers.errors import SettingsError
from containers.settings.migration.docker import inside_container
from containers.settings.migration.scripts import read_script
from containers.settings.migration.shell import ARGUMENTS, DOLLAR

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SERVER_MODULE = re.compile(r"vllm\.entrypoints\.[\w.]*api_server[\w.]*")
_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_BEFORE_A_COMMAND = frozenset({"env", "exec", "nohup", "sudo", "time"})


@dataclass(frozen=True)
class Line:
    """A command that starts vLLM's server.

    Attributes:
        words: What vLLM's parser gets; begins with ``serve`` unless the server was
            started as a Python module. Dollars as :mod:`.shell` has them.
        environment: Variables that were set for it; ``None`` where the value is not
            in the command.
        notes: What the command says beyond vLLM's options.
        is_in_container: Whether its relative paths are those of a container.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_in_container: bool = False


def line_of_words(words: Sequence[str]) -> Line:
    """Find vLLM's part of a command whose variables a shell has filled in already.

    Args:
        words: ``vllm serve ...``, ``python -m vllm.entrypoints...``, ``docker run
            ...``, one of these in ``sh -c``, or the options alone.

    Raises:
        SettingsError: It is no command that serves a model.
    """
    return found_in([word.replace("$", DOLLAR) for word in words], Line(()))


def line_of_text(text: str) -> Line:
    """Find the one command that starts vLLM in a shell text.

    Raises:
        SettingsError: There is none, or more than one, or it cannot be read.
    """
    return _in_script(text, Line(()))


def found_in(words: Sequence[str], around: Line) -> Line:
    """Find vLLM's part of a command, its dollars as :mod:`.shell` has them.

    Args:
        words: The command.
        around: What is known of it so far.

    Raises:
        SettingsError: It is no command that serves a model.
    """
    variables = dict(around.environment)
    rest = list(words)
    while rest:
        match = _ASSIGNMENT.fullmatch(rest[0])
        if match:
            variables[match[1]] = match[2]
        elif rest[0].rsplit("/", 1)[-1] not in _BEFORE_A_COMMAND:
            break
        del rest[0]
    around = replace(around, environment=variables)
    container = inside_container(rest)
    if container is not None:
        around = replace(
            around,
            environment={**variables, **container.environment},
            notes=(*around.notes, *container.notes),
            is_in_container=True,
        )
        return found_in(container.words, around)
    index = _index_of_script(rest)
    if index is not None:
        script = rest[index].replace(DOLLAR, "$")
        return _in_script(script, around, arguments=rest[index + 2 :])
    return replace(around, words=tuple(_options(rest)))


def starts_server(words: Sequence[str]) -> bool:
    """Whether a command starts vLLM's server, in whatever wrapping."""
    text = " ".join(words)
    is_image = re.search(r"\b(docker|podman|nerdctl)\b.*\brun\b.*vllm", text, re.DOTALL)
    is_module = _SERVER_MODULE.search(text) or "api_server.py" in text
    return bool(is_module or is_image or re.search(r"\bvllm\s+serve\b", text))


def _in_script(
    text: str, around: Line, arguments: Sequence[str] = (ARGUMENTS,)
) -> Line:
    script = read_script(text, around.environment, starts_server)
    words = [
        each
        for word in script.words
        for each in (arguments if word == ARGUMENTS else [word])
    ]
    notes = (*around.notes, *script.notes)
    return found_in(words, replace(around, environment=script.environment, notes=notes))


def _index_of_script(words: Sequence[str]) -> int | None:
    if words and words[0].rsplit("/", 1)[-1] in _SHELLS:
        for index, word in enumerate(words[1:-1], start=1):
            if re.fullmatch(r"-[a-z]*c", word):
                return index + 1
    return 0 if len(words) == 1 and re.search(r"\s", words[0].strip()) else None


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
    if not words:
        raise SettingsError(
            reason="there is no command to import",
            hint="Write it after --, such as -- vllm serve MODEL, or use --from FILE.",
        )
    return ["serve", *words]
