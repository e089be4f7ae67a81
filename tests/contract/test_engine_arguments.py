"""The names read from vLLM's text are the fields its classes really have."""

from dataclasses import fields

from containers.vllm_api.engine_arguments import engine_argument_names


def test_the_names_are_the_public_fields_of_async_engine_args() -> None:
    from vllm.engine.arg_utils import AsyncEngineArgs

    real = {field.name for field in fields(AsyncEngineArgs)}
    assert engine_argument_names() == {
        name for name in real if not name.startswith("_")
    }
