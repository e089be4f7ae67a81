"""What a model can do, in vLLM's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers import vllm_api

_BY_CONVERSION = {
    "embed": ("embed", "token_embed"),
    "classify": ("classify", "token_classify"),
    "none": ("embed", "token_embed"),
}


def configured_tasks(vllm_config: Any) -> tuple[str, ...]:
    """Tasks of a model as its configuration tells them, before there is an engine.

    Only the loaded weights' class knows for certain; this is what it says for models
    that vLLM itself turns into pooling models, and for those that generate.

    Source:
        vllm/v1/worker/gpu_model_runner.py ``get_supported_tasks`` (0.32.0).
    """
    model_config = vllm_config.model_config
    if model_config.runner_type == "pooling":
        return _BY_CONVERSION[str(model_config.convert_type)]
    return ("generate",)


def pooling_task(vllm_config: Any, tasks: Sequence[str]) -> str | None:
    """The one pooling task a model is served for, or ``None``.

    Source:
        vllm/entrypoints/pooling/factories.py ``init_pooling_state`` (0.32.0).
    """
    task: str | None = vllm_config.model_config.get_pooling_task(tuple(tasks))
    return task


def can_score(vllm_config: Any, tasks: Sequence[str]) -> bool:
    """Whether a model can compare texts: scores and reranking."""
    able: bool = vllm_api.enable_scoring_api(tuple(tasks), vllm_config.model_config)
    return able
