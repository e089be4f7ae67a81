"""Every option of ``vllm serve`` is known: set here, or left out with a reason."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from containers import vllm_api
from containers.settings.frontend import frontend_arguments
from containers.settings.options import ENGINE_ELSEWHERE, FRONT_END
from containers.vllm_api.behaviour import behaviour
from containers.vllm_api.engine_arguments import engine_arguments

BUILT_IN = {"help"}


@pytest.fixture(scope="module")
def parsed_names() -> set[str]:
    """Names of all options, as vLLM's own parser has them."""
    parser: Any = vllm_api.make_arg_parser(vllm_api.FlexibleArgumentParser())
    return {action.dest for action in parser._actions} - BUILT_IN


def test_none_is_missing_and_none_is_made_up(parsed_names: set[str]) -> None:
    engine = set(engine_arguments() or ())
    front_end = {option.name for option in FRONT_END} - behaviour().front_end_lacks
    assert parsed_names - engine == (front_end | set(frontend_arguments())) - engine
    assert front_end <= parsed_names
    assert {option.name for option in ENGINE_ELSEWHERE} <= engine


def test_each_is_told_once() -> None:
    names = [option.name for option in [*FRONT_END, *ENGINE_ELSEWHERE]]
    assert len(set(names)) == len(names)


def test_one_without_a_key_has_a_reason() -> None:
    for option in [*FRONT_END, *ENGINE_ELSEWHERE]:
        assert option.key or option.reason, option.name


def test_every_engine_argument_is_a_field_of_vllms() -> None:
    real = {field.name for field in fields(vllm_api.AsyncEngineArgs)}
    assert set(engine_arguments() or ()) == {
        name for name in real if not name.startswith("_")
    }
