"""The words of a line that vLLM knows, and those that it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from containers.settings.migration.retired import RETIRED
from containers.settings.migration.shell import DOLLAR
from containers.vllm_api.serve_arguments import (
    Flag,
    config_file_omissions,
    config_file_words,
)


@dataclass
class Known:
    """The words of a line, sorted.

    Attributes:
        words: Those that vLLM's parser knows.
        notes: What is left out, each with its reason.
    """

    words: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def sorted_words(words: Sequence[str], flags: Mapping[str, Flag]) -> Known:
    """Leave out the options that vLLM does not have, and say so.

    The file of ``--config`` is read where it stands, as vLLM does. No value of an
    unknown option is told, since it may be a secret.

    Raises:
        ServeArgumentsError: The file of ``--config`` cannot be read.
    """
    known, given = Known(), set[str]()
    rest = _with_config_file(list(words), known)
    while rest:
        word = rest.pop(0)
        flag = _flag(word, flags) if word.startswith("-") and len(word) > 1 else None
        if not word.startswith("-") or _is_number(word):
            known.words.append(word)
        elif flag is None:
            _leave_out(word, rest, known)
        else:
            if flag.name in given and not flag.adds and "." not in word.split("=")[0]:
                known.notes.append(f"{_name(word)} is given twice: the last counts")
            given.add(flag.name)
            known.words.append(word)
            if flag.takes == "one" and "=" not in word and rest:
                known.words.append(rest.pop(0))
    return known


def _leave_out(word: str, rest: list[str], known: Known) -> None:
    name = _name(word)
    takes_value, reason = RETIRED.get(name, (True, ""))
    most = 1 if name in RETIRED else len(rest)
    n_values = 0
    while takes_value and "=" not in word and n_values < most and _is_value(rest):
        rest.pop(0)
        n_values += 1
    what = {0: name, 1: f"{name} and its value"}.get(
        n_values, f"{name} and the {n_values} words after it"
    )
    why = f"this vLLM has it no more; {reason}" if reason else "vLLM has no such option"
    known.notes.append(f"{what} left out: {why}")


def _is_value(rest: list[str]) -> bool:
    return bool(rest) and not rest[0].startswith("-")


def _flag(word: str, flags: Mapping[str, Flag]) -> Flag | None:
    name = _name(word)
    if name in flags:
        return flags[name]
    if word.startswith("-O"):
        return flags["--optimization-level"]
    if name in RETIRED:
        return None
    starts = [each for each in flags if each.startswith(name)]
    return flags[starts[0]] if name.startswith("--") and starts else None


def _name(word: str) -> str:
    name = word.split("=", 1)[0].split(".", 1)[0]
    return name.replace("_", "-") if name.startswith("--") else name


def _is_number(word: str) -> bool:
    return word[1:].replace(".", "", 1).isdigit()


def _with_config_file(words: list[str], known: Known) -> list[str]:
    if "--config" not in words[:-1]:
        return words
    index = words.index("--config")
    path = words[index + 1].replace(DOLLAR, "$")
    inside = [word.replace("$", DOLLAR) for word in config_file_words(path)]
    for key in config_file_omissions(path):
        known.notes.append(
            f"{key} left out: vLLM itself reads no false and no empty list from its "
            f"file, unless the key is an option that has its --no-{key}"
        )
    before, after = words[:index], words[index + 2 :]
    is_model_first = before[:1] == ["serve"] and len(before) > 1
    first = 1 if before[:1] == ["serve"] else 0
    if is_model_first and not before[1].startswith("-"):
        first = 2
        inside = _without_model(inside)
    return [*before[:first], *inside, *before[first:], *after]


def _without_model(words: list[str]) -> list[str]:
    """vLLM prefers the model of the command line to that of its file."""
    if "--model" not in words:
        return words
    index = words.index("--model")
    return [*words[:index], *words[index + 2 :]]
