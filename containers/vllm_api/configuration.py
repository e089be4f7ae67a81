"""vLLM's configuration object from engine arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args

from pydantic import TypeAdapter

from containers import vllm_api
from containers.vllm_api.transformers_models import read_models_once

_OF_THE_COMMAND_LINE = {"mm_device_do_normalize": None}
"""Defaults of ``vllm serve`` that are not those of ``AsyncEngineArgs``."""


def create_vllm_config(
    *,
    model: str,
    served_model_name: Sequence[str],
    arguments: Mapping[str, Any],
    n_clients: int = 1,
) -> Any:
    """Make a fresh ``VllmConfig``; loads no weights (about 10 ms after the import).

    An engine that starts writes into its config (``num_gpu_blocks``), so every engine
    wants a config of its own.

    Args:
        model: Hugging Face id or model folder.
        served_model_name: Names clients may ask for, the primary one first.
        arguments: vLLM engine arguments by vLLM's own names; a nested configuration may
            be a mapping of its fields.
        n_clients: Processes that will use the engine, by which vLLM chooses how images
            and sounds get to it.

    Raises:
        ValueError: vLLM refuses an argument's value; its text says which.
        TypeError: vLLM does not know an argument's name.

    Source:
        vllm/engine/arg_utils.py ``AsyncEngineArgs.create_engine_config`` (0.32.0), with
        the usage context of vLLM's API server, which sets its batching defaults.
    """
    read_models_once()
    engine_args = vllm_api.AsyncEngineArgs(
        model=model,
        served_model_name=list(served_model_name),
        **_with_configs_made({**_defaults(), **arguments}),
    )
    if n_clients > 1:
        engine_args._api_process_count = n_clients  # noqa: SLF001  # as vLLM's command does
    context = vllm_api.UsageContext.OPENAI_API_SERVER
    return engine_args.create_engine_config(usage_context=context)


def _defaults() -> dict[str, Any]:
    names = {field.name for field in fields(vllm_api.AsyncEngineArgs)}
    return {key: _OF_THE_COMMAND_LINE[key] for key in names & {*_OF_THE_COMMAND_LINE}}


def _with_configs_made(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments whose mappings are made the objects that vLLM's parser makes of them.

    Source:
        vllm/engine/arg_utils.py ``_compute_kwargs`` (0.32.0).
    """
    types = {field.name: field.type for field in fields(vllm_api.AsyncEngineArgs)}
    made = dict(arguments)
    for name, value in arguments.items():
        config = _config_class(types.get(name))
        if isinstance(value, dict) and config is not None:
            made[name] = TypeAdapter(config).validate_python(value)
    return made


def _config_class(annotation: Any) -> Any:
    """Class of a nested configuration, unless a mapping will do as well."""
    options = get_args(annotation) or (annotation,)
    if dict in options or any(
        getattr(each, "__origin__", None) is dict for each in options
    ):
        return None
    return next((each for each in options if is_dataclass(each)), None)
