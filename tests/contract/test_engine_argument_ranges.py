"""The ranges read from vLLM's text are those its classes refuse other numbers by."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from containers.vllm_api.engine_arguments import engine_arguments
from containers.vllm_api.kinds import Kind, Record, Scalar, options_of
from tests.contract.test_engine_argument_kinds import NESTED, classes

BOUNDS = ("gt", "ge", "lt", "le")
Bounds = dict[str, float]


def declared(cls: Any) -> Iterator[tuple[str, Bounds]]:
    """Fields of a class that have bounds, with these."""
    for name, field in getattr(cls, "__pydantic_fields__", {}).items():
        marks = [
            (bound, getattr(mark, bound))
            for mark in field.metadata
            for bound in BOUNDS
            if getattr(mark, bound, None) is not None
        ]
        if marks and not name.startswith("_"):
            yield name, dict(marks)


def read(kind: Kind) -> Bounds:
    """Bounds of a kind's numbers."""
    ranges = [each.range for each in options_of(kind) if isinstance(each, Scalar)]
    return next((dict(each.bounds()) for each in ranges if each is not None), {})


def arguments() -> dict[str, Kind]:
    known = engine_arguments()
    assert known is not None
    return dict(known)


def test_an_engine_argument_has_the_range_of_a_config_that_vllm_makes_of_it() -> None:
    """An argument's name is, as a rule, that of the config's field."""
    found = {
        name: bounds for name, kind in arguments().items() if (bounds := read(kind))
    }
    real = [
        pair
        for cls in classes().values()
        if inspect.isclass(cls)
        for pair in declared(cls)
    ]
    assert len(found) > 40
    assert [name for name in found if (name, found[name]) not in real] == []
    assert found["tensor_parallel_size"] == {"ge": 1}
    assert found["max_num_seqs"] == {"ge": 1}
    assert found["gpu_memory_utilization"] == {"gt": 0, "le": 1}


@pytest.mark.parametrize(("name", "argument"), NESTED)
def test_so_has_every_field_of_a_nested_configuration(name: str, argument: str) -> None:
    options = options_of(arguments()[argument])
    (record,) = (each for each in options if isinstance(each, Record))
    real = dict(declared(classes()[name]))
    read_ = {
        key: bounds for key, kind in record.fields.items() if (bounds := read(kind))
    }
    # A field that vLLM converts first is left to vLLM.
    assert {key: real.get(key) for key in read_} == read_
