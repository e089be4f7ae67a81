"""The served model names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from containers.errors import SettingsError
from containers.graph import Expected
from containers.settings import LoraSettings

ServedModels = Annotated[
    Any, Expected("an OpenAIServingModels", has=("model_name", "show_available_models"))
]


async def models(
    *,
    names: Sequence[str],
    engine: Any,
    renderer: Any,
    vllm_config: Any,
    lora: LoraSettings | None = None,
) -> AsyncIterator[ServedModels]:
    """Build vLLM's list of served models and load their adapters.

    An adapter that an earlier list has loaded into the same engine is taken over, with
    its id; what only an ended list had is removed from an engine that goes on.

    Args:
        names: Names clients may ask for, the primary one first.
        engine: Client of a started engine, or a double.
        renderer: The injected renderer.
        vllm_config: Configuration of the engine.
        lora: Adapters to load; ``None`` for none.

    Yields:
        vLLM's ``OpenAIServingModels``, its adapters loaded; it belongs to this engine.

    Raises:
        SettingsError: An adapter cannot be loaded.

    Source:
        vllm/entrypoints/launchers/api_server/app_state.py (0.32.0).
    """
    from containers import vllm_api
    from containers.vllm_api.adapters import of_engine
    from containers.vllm_api.client import EngineView

    model = vllm_config.model_config.model
    served = vllm_api.OpenAIServingModels(
        EngineView(engine, renderer=renderer, vllm_config=vllm_config),
        [vllm_api.BaseModelPath(name=name, model_path=model) for name in names],
        lora_modules=_modules(lora, vllm_config),
    )
    async with of_engine(engine).shared(served):
        try:
            await served.init_static_loras()
        except ValueError as error:
            raise SettingsError(
                key="lora.modules",
                reason=f"an adapter of {names[0]!r} cannot be loaded: {error}",
                hint="Mend models[].lora.modules.",
            ) from error
        yield served


def _modules(lora: LoraSettings | None, vllm_config: Any) -> list[Any]:
    """The configured adapters, and those of vLLM's ``default_mm_loras``."""
    from containers import vllm_api

    configured = [module.model_dump() for module in lora.modules] if lora else []
    config = getattr(vllm_config, "lora_config", None)
    by_modality = (config.default_mm_loras if config else None) or {}
    by_default = [{"name": name, "path": path} for name, path in by_modality.items()]
    return [vllm_api.LoRAModulePath(**each) for each in [*configured, *by_default]]
