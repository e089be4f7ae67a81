"""What vLLM's text is read to declare is what its classes really declare."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import SkipValidation

from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.kinds import (
    Anything,
    Choice,
    Kind,
    ListOf,
    MappingOf,
    Null,
    Record,
    Scalar,
    options_of,
)

Shape = frozenset[Any]

MADE_LATER = {"speculative_config", "diffusion_config", "watermark_config"}
LISTS = {list, set, tuple, frozenset, collections.abc.Sequence}
MAPPINGS = {dict, collections.abc.Mapping}
PLAIN = {each: each.__name__ for each in (bool, int, float, str, type(None))}
PLAIN |= {Any: "anything", object: "anything", Path: "str"}
OPEN_ENDED = {("SpeculativeConfig", "quantization")}
"""Fields that take text beside names our reading does not follow: any text will do."""


def read(kind: Kind) -> Shape:
    """Shape of what was read from the text."""
    return frozenset(part for each in options_of(kind) for part in _read(each))


def _read(kind: Kind) -> Iterator[Any]:
    match kind:
        case Scalar():
            yield kind.type.__name__
        case Choice():
            yield from ("member",) if kind.ignores_case else map(repr, kind.values)
        case ListOf():
            yield ("list", read(kind.item))
        case MappingOf():
            yield "mapping"
        case Record():
            yield kind.name
        case Null():
            yield "NoneType"
        case Anything():
            yield "anything"
        case _:
            yield "opaque"


def real(annotation: Any) -> Shape:
    """Shape of what the class declares."""
    return frozenset(_real(annotation))


def _real(annotation: Any) -> Iterator[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated or origin is SkipValidation:
        yield from _real(arguments[0])
    elif origin in {Union, UnionType}:
        for each in arguments:
            yield from _real(each)
    elif origin is Literal:
        yield from map(repr, arguments)
    elif origin in LISTS or annotation in LISTS:
        yield ("list", real(arguments[0]) if arguments else frozenset({"anything"}))
    elif origin in MAPPINGS:
        yield "mapping"
    else:
        yield from _real_class(annotation)


def _real_class(annotation: Any) -> Iterator[Any]:
    if annotation in PLAIN:
        yield PLAIN[annotation]
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        values = [member.value for member in annotation]
        is_whole = all(isinstance(value, int) for value in values)
        yield from map(repr, map(int, values)) if is_whole else ("member",)
    elif is_dataclass(annotation):
        yield annotation.__name__
    elif isinstance(annotation, type) and issubclass(annotation, dict):
        yield "mapping"
    else:
        yield "opaque"


def arguments() -> dict[str, Kind]:
    known = engine_arguments()
    assert known is not None
    return dict(known)


def without_null(shape: Shape) -> Shape:
    return shape - {"NoneType"}


def test_every_engine_argument_has_the_type_of_its_field() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    known, wrong = arguments(), {}
    for field in fields(AsyncEngineArgs):
        if field.name.startswith("_") or isinstance(field.type, str):
            continue
        declared = real(field.type)
        found = read(known[field.name])
        if field.name in MADE_LATER:
            assert "mapping" in declared
        elif without_null(found) != without_null(declared):
            wrong[field.name] = (found, declared)
        elif "NoneType" in declared:
            assert "NoneType" in found
    assert wrong == {}


def records(kind: Kind) -> Iterator[Record]:
    for option in options_of(kind):
        if isinstance(option, Record):
            yield option


def classes() -> dict[str, Any]:
    """Each nested configuration's class, by its name."""
    import vllm.config
    import vllm.config.diffusion
    import vllm.config.kernel
    import vllm.config.parallel
    import vllm.config.quantization
    import vllm.config.watermarking

    parts = (
        vllm.config,
        vllm.config.diffusion,
        vllm.config.kernel,
        vllm.config.parallel,
        vllm.config.quantization,
        vllm.config.watermarking,
    )
    return {name: cls for part in parts for name, cls in vars(part).items()}


NESTED = sorted(
    {
        (record.name, name)
        for name, kind in (engine_arguments() or {}).items()
        for record in records(kind)
    }
)


@pytest.mark.parametrize(("name", "argument"), NESTED)
def test_so_has_every_field_of_a_nested_configuration(name: str, argument: str) -> None:
    cls = classes()[name]
    (record,) = records(arguments()[argument])
    real_names = {each.name for each in fields(cls) if not each.name.startswith("_")}
    assert set(record.fields) == real_names
    hints = get_type_hints(cls, include_extras=True)
    wrong = {}
    for field, kind in record.fields.items():
        found = without_null(read(kind))
        declared = without_null(real(hints[field]))
        # A field that vLLM converts before it looks at its type is left to vLLM.
        if (name, field) in OPEN_ENDED:
            assert "str" in found
        elif found not in ({"anything"}, declared):
            wrong[field] = (found, declared)
    assert wrong == {}


@pytest.mark.parametrize(("name", "argument"), NESTED)
def test_a_nested_configuration_may_be_a_mapping(name: str, argument: str) -> None:
    from containers.vllm_api.configuration import _with_configs_made

    if argument in MADE_LATER or argument == "quantization_config":
        return
    made = _with_configs_made({argument: {}})
    assert type(made[argument]).__name__ == name
