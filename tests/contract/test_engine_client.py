"""The fake engine answers to every name of vLLM's engine client, and like it."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from containers import vllm_api
from containers.testing import FakeEngine
from containers.vllm_api.behaviour import behaviour

OF_THE_FAKE_ALONE = {"aborted", "die", "forget", "loras", "requests", "shutdown_count"}
ATTRIBUTES = ("input_processor", "model_config", "renderer", "vllm_config")


def public_members(kind: Any) -> list[str]:
    return sorted(name for name in dir(kind) if not name.startswith("_"))


def members_of_the_client() -> list[str]:
    return [
        name for name in public_members(vllm_api.EngineClient) if name != "register"
    ]


def test_the_client_still_has_the_attributes_that_serving_objects_read() -> None:
    annotated = vllm_api.EngineClient.__annotations__
    assert sorted(annotated) == list(ATTRIBUTES)


def test_every_member_has_the_signature_of_the_client() -> None:
    names = members_of_the_client()
    assert len(names) >= 35
    assert [name for name in names if not is_compatible(name)] == []


def test_it_has_no_member_that_the_real_engine_lacks() -> None:
    ours = set(public_members(FakeEngine)) - OF_THE_FAKE_ALONE
    assert ours - set(public_members(vllm_api.AsyncLLM)) == behaviour().client_lacks


def is_compatible(name: str) -> bool:
    theirs = inspect.getattr_static(vllm_api.EngineClient, name)
    ours = inspect.getattr_static(FakeEngine, name, None)
    if isinstance(theirs, property) or not callable(theirs):
        return type(ours) is type(theirs)
    return (
        callable(ours)
        and inspect.iscoroutinefunction(ours) == inspect.iscoroutinefunction(theirs)
        and parameters(ours) >= parameters(theirs)
    )


def parameters(function: Any) -> set[Any]:
    return {
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(function).parameters.values()
    }


@pytest.mark.parametrize("name", ["generate", "encode", "abort", "add_lora"])
def test_it_takes_what_the_real_engine_takes(name: str) -> None:
    real = inspect.signature(getattr(vllm_api.AsyncLLM, name)).parameters
    fake = inspect.signature(getattr(FakeEngine, name)).parameters
    assert list(fake) == list(real)


def test_it_passes_for_an_engine_client() -> None:
    assert isinstance(FakeEngine(), vllm_api.EngineClient)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_what_the_container_provides_is_missing_and_may_be_set(name: str) -> None:
    engine = FakeEngine()
    assert not hasattr(engine, name)
    with pytest.raises(AttributeError, match=f"engine.{name} = "):
        getattr(engine, name)
    setattr(engine, name, 1)
    assert getattr(engine, name) == 1


def test_a_misspelt_member_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no such member"):
        FakeEngine().generat  # noqa: B018


async def test_an_idle_engine_answers_every_question() -> None:
    engine = FakeEngine()
    await engine.check_health()
    assert engine.is_running
    assert not engine.is_stopped
    assert await engine.get_supported_tasks() == ()
    assert await engine.reset_prefix_cache()
    assert not await engine.is_tracing_enabled()
    assert await engine.collective_rpc("x") == []
    assert await engine.get_weight_version() == "default"
    await engine.finish_weight_update("two")
    assert await engine.get_weight_version() == "two"
    assert engine.get_kv_event_sources() == {}
    fault = vllm_api.FaultToleranceRequest(instruction="x", params={}, request_id="r")
    assert not (await engine.handle_fault(fault)).success


def test_vllm_reads_the_tiny_model(tiny_folder: Path) -> None:
    args = vllm_api.AsyncEngineArgs(model=str(tiny_folder), enforce_eager=True)
    config = args.create_engine_config().model_config
    assert config.max_model_len == 2048
    assert config.get_vocab_size() == 1000
    assert config.tokenizer == str(tiny_folder)
