"""The served model names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from containers.graph import Expected

ServedModels = Annotated[
    Any, Expected("an OpenAIServingModels", has=("model_name", "show_available_models"))
]


async def models(
    *, names: Sequence[str], engine: Any, renderer: Any, vllm_config: Any
) -> ServedModels:
    """Build vLLM's list of served models.

    Args:
        names: Names clients may ask for, the primary one first.
        engine: Client of a started engine, or a double.
        renderer: The injected renderer.
        vllm_config: Configuration of the engine.

    Returns:
        vLLM's ``OpenAIServingModels``; it belongs to this engine.
    """
    from containers import vllm_api
    from containers.vllm_api.client import EngineView

    model = vllm_config.model_config.model
    served = vllm_api.OpenAIServingModels(
        EngineView(engine, renderer=renderer, vllm_config=vllm_config),
        [vllm_api.BaseModelPath(name=name, model_path=model) for name in names],
    )
    await served.init_static_loras()
    return served
