"""Front-end arguments of the installed vLLM, read from its source text."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from containers.vllm_api.declarations import constructor_arguments, declared_fields
from containers.vllm_api.kinds import Kind
from containers.vllm_api.names import place_of
from containers.vllm_api.release import nearest_line

_CLASSES = ("BaseFrontendArgs", "FrontendArgs")

TAKERS = (
    "OnlineRenderer",
    "OpenAIServingChat",
    "OpenAIServingCompletion",
    "OpenAIServingResponses",
    "AnthropicServingMessages",
)
"""The objects whose options front-end arguments are."""


@cache
def passed_on_arguments() -> Mapping[str, Kind]:
    """Front-end arguments that one of the serving objects takes by the same name.

    Takes about 0.1 s once; imports nothing. A newer vLLM's are among them before this
    project knows them.

    Returns:
        The kind of each by its name; nothing when vLLM is not installed.

    Source:
        ``FrontendArgs`` beside vLLM's ``make_arg_parser``.
    """
    line = nearest_line()
    module, _ = place_of("make_arg_parser", line)
    declared = declared_fields(module, *_CLASSES)
    taken: set[str] = set()
    for name in TAKERS:
        taken |= constructor_arguments(*place_of(name, line))
    return {name: declared[name] for name in declared if name in taken}


def taken_by(kind: type[Any], names: Iterable[str]) -> set[str]:
    """Those of ``names`` that are arguments of a class' constructor."""
    return set(names) & set(inspect.signature(kind).parameters)
