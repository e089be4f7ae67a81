"""Adapters that were loaded while a model served, over its generations."""

from __future__ import annotations

from containers.lifecycle import Running
from containers.registry.served_model import ServedModel


def keep_adapters(model: ServedModel, loaded: Running) -> None:
    """Go on serving them with new objects around the same engine."""
    served = getattr(loaded, "models", None)
    adapters = getattr(served, "lora_requests", None)
    if adapters is not None:
        for name, adapter in _loaded_while_serving(model).items():
            adapters.setdefault(name, adapter)


async def add_adapters_again(model: ServedModel, loaded: Running) -> None:
    """Load them into a new engine; one that cannot be is left out, and logged."""
    served = getattr(loaded, "models", None)
    adapters = getattr(served, "lora_requests", {})
    missing = {
        name: adapter
        for name, adapter in _loaded_while_serving(model).items()
        if name not in adapters
    }
    if missing:
        from containers.vllm_api.adapters import add_again

        for adapter in missing.values():
            await add_again(served, adapter)


def _loaded_while_serving(model: ServedModel) -> dict[str, object]:
    configured = {module.name for module in model.settings.lora.modules}
    adapters = model.adapters
    return {name: adapters[name] for name in adapters if name not in configured}
