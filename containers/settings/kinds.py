"""What each key of the settings takes, told as vLLM's arguments are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.front_end import passed_on_arguments
from containers.vllm_api.kinds import (
    ANYTHING,
    NULL,
    Choice,
    Kind,
    ListOf,
    MappingOf,
    Record,
    Scalar,
    one_of,
)

_SCALARS: dict[Any, Kind] = {
    bool: Scalar(bool),
    int: Scalar(int),
    float: Scalar(float),
    str: Scalar(str),
    SecretStr: Scalar(str, is_secret=True),
    type(None): NULL,
}
_ENGINE = "engine"
_FRONTEND = "frontend"


@cache
def kind_of_section(section: type[BaseModel]) -> Kind:
    """Kind of a section: a record of its keys."""
    return Record(section.__name__, partial(_fields, section))


def kind_of(annotation: Any) -> Kind:  # noqa: PLR0911  # one for each kind
    """Kind of an annotation of ours."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return kind_of_section(annotation)
    if origin is Annotated:
        return kind_of(arguments[0])
    if origin in {Union, UnionType}:
        return one_of(*map(kind_of, arguments))
    if origin is Literal:
        return Choice(arguments)
    if origin in {list, tuple}:
        return ListOf(kind_of(arguments[0]))
    if origin is dict:
        return MappingOf(kind_of(arguments[1]))
    return ANYTHING


def _fields(section: type[BaseModel]) -> Mapping[str, Kind]:
    fields = {
        name: kind_of(field.annotation) for name, field in section.model_fields.items()
    }
    known = engine_arguments()
    if _ENGINE in fields and known is not None:
        fields[_ENGINE] = Record(_ENGINE, lambda: known)
    if _FRONTEND in fields and known is not None:
        fields[_FRONTEND] = Record(_FRONTEND, passed_on_arguments)
    return fields
