"""vLLM's configuration object from engine arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from containers import vllm_api


def create_vllm_config(
    *, model: str, served_model_name: Sequence[str], arguments: Mapping[str, Any]
) -> Any:
    """Make a fresh ``VllmConfig``; loads no weights (about 10 ms after the import).

    An engine that starts writes into its config (``num_gpu_blocks``), so every engine
    wants a config of its own.

    Args:
        model: Hugging Face id or model folder.
        served_model_name: Names clients may ask for, the primary one first.
        arguments: vLLM engine arguments by vLLM's own names.

    Raises:
        ValueError: vLLM refuses an argument's value; its text says which.
        TypeError: vLLM does not know an argument's name.

    Source:
        vllm/engine/arg_utils.py ``AsyncEngineArgs.create_engine_config`` (0.32.0), with
        the usage context of vLLM's API server, which sets its batching defaults.
    """
    engine_args = vllm_api.AsyncEngineArgs(
        model=model, served_model_name=list(served_model_name), **arguments
    )
    context = vllm_api.UsageContext.OPENAI_API_SERVER
    return engine_args.create_engine_config(usage_context=context)
