"""What ``vllm serve`` makes of a command line, told by vLLM's own parser."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import yaml

from containers import vllm_api


@dataclass(frozen=True, slots=True)
class Flag:
    """One option of ``vllm serve``.

    Attributes:
        name: vLLM's name of it, such as ``max_model_len``; empty if vLLM has no such
            option.
        takes: Values: ``none`` for a switch, ``one``, ``some`` (one or more) or
            ``maybe`` (none or one).
        negation: The switch that says no, such as ``--no-enable-lora``; may be empty.
        negations: All ways to say no, ``--disable-lora`` too where vLLM has it.
        adds: Whether given again it adds a value, rather than replacing the first.
        default: vLLM's own value.
    """

    name: str
    takes: str
    negation: str
    negations: frozenset[str]
    adds: bool
    default: Any


class ServeArgumentsError(ValueError):
    """vLLM's parser refuses the line; ``str()`` is what it says."""


def parsed_arguments(words: Sequence[str]) -> dict[str, Any]:
    """The options a command line gives, by vLLM's own names, and no defaults.

    Args:
        words: ``serve``, then the model and options; or options alone, as
            ``python -m vllm.entrypoints.openai.api_server`` takes them.

    Returns:
        Plain values: a nested configuration is the mapping that was written.

    Raises:
        ServeArgumentsError: vLLM refuses an option's value, or does not know it.

    Source:
        vllm/utils/argparse_utils.py ``FlexibleArgumentParser.parse_args`` (0.32.0).
    """
    subject = list(words)
    parser = _parser(has_subcommand=subject[:1] == ["serve"])
    written: dict[str, str] = {}
    for action in parser._actions:  # noqa: SLF001  # argparse has no public list
        action.default = argparse.SUPPRESS
        if action.type is not None:
            action.type = _noting(action, written)
    try:
        values = vars(parser.parse_args(subject))
    except (ValueError, TypeError, IndexError, AssertionError) as error:
        raise ServeArgumentsError(str(error)) from error
    values.pop("subcommand", None)
    return {name: _plain(value, written.get(name)) for name, value in values.items()}


def config_file_words(path: str) -> list[str]:
    """The words that vLLM makes of a YAML file of ``vllm serve --config``.

    Raises:
        ServeArgumentsError: It cannot be read.
    """
    try:
        Path(path).read_bytes()  # vLLM would log what keeps it from being read
        words: list[str] = _parser().load_config_file(path)
    except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError) as error:
        said = str(error) if type(error) is ValueError else "it is not what vLLM reads"
        reason = getattr(error, "strerror", None) or said
        raise ServeArgumentsError(f"{path}: {reason}") from error
    return words


def config_file_omissions(path: str) -> list[str]:
    """Keys of such a file of which vLLM makes no word at all.

    It has none for an empty list, nor for ``false`` unless the key is spelled as an
    option that has its ``--no-``.

    Raises:
        ServeArgumentsError: It cannot be read.

    Source:
        vllm/utils/argparse_utils.py ``FlexibleArgumentParser.load_config_file``
        (0.32.0).
    """
    words = set(config_file_words(path))
    with Path(path).open(encoding="utf-8") as file:
        keys: Mapping[str, Any] = yaml.safe_load(file)
    return [
        key
        for key, value in keys.items()
        if (value is False or value == []) and not words & {f"--{key}", f"--no-{key}"}
    ]


@cache
def flags() -> Mapping[str, Flag]:
    """Every option of ``vllm serve``, by each way to write it (``--model``, ``-q``)."""
    found: dict[str, Flag] = {}
    parser = _parser()
    # Not all of an action's spellings are in its own list: vLLM hides some from help.
    spelt: dict[str, Any] = parser._option_string_actions  # noqa: SLF001  # argparse has no public list
    for action in parser._actions:  # noqa: SLF001  # as above
        spellings = [text for text, meant in spelt.items() if meant is action]
        negations = _negations(action, spellings)
        takes = {0: "none", None: "one", "+": "some", "?": "maybe"}[action.nargs]
        flag = Flag(
            name=action.dest,
            takes=takes,
            negation=next((each for each in negations if "--no-" in each), ""),
            negations=frozenset(negations),
            adds="Append" in type(action).__name__,
            default=action.default,
        )
        found |= dict.fromkeys(spellings, flag)
    return found


def _negations(action: Any, spellings: Sequence[str]) -> list[str]:
    known = getattr(action, "negative_option_strings", None)
    if known is None:
        is_pair = len(spellings) > 1
        known = {each for each in spellings if is_pair and each.startswith("--no-")}
    return [each for each in spellings if each in known]


def _parser(*, has_subcommand: bool = False) -> Any:
    class Parser(vllm_api.FlexibleArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise ServeArgumentsError(message)

    parser = Parser(prog="vllm serve", add_help=False)
    if has_subcommand:
        parser.add_argument("subcommand")
    return vllm_api.make_arg_parser(parser)


def _noting(action: Any, written: dict[str, str]) -> Callable[[str], Any]:
    made = action.type

    def noted(text: str) -> Any:
        written[action.dest] = text
        return made(text)

    noted.__name__ = getattr(made, "__name__", "value")
    return noted


def _plain(value: Any, text: str | None) -> Any:
    if is_dataclass(value) and text is not None:
        return json.loads(text)
    if isinstance(value, list):
        return [_mapping(each) for each in value]
    return value


def _mapping(value: Any) -> Any:
    if not is_dataclass(value):
        return value
    names: Iterable[str] = value.__dataclass_fields__
    return {name: getattr(value, name) for name in names}
