"""What a fork server imports before it forks."""

from __future__ import annotations

from importlib import import_module

ENGINE_MODULES = (
    "vllm.v1.engine.core",
    "vllm.v1.engine.utils",
    "vllm.v1.engine.coordinator",
    "vllm.v1.executor.multiproc_executor",
    "vllm.v1.structured_output",
    "vllm.model_executor.model_loader.default_loader",
    "vllm.transformers_utils.config",
    "containers.vllm_api.parent_watch",
)
"""Modules of every engine. Without one of them nothing can be forked."""

USEFUL_MODULES = ("vllm.model_executor.layers.quantization.online.base",)
"""Modules that most engines import while they start; one that is missing is no loss."""

CPU_MODULES = ("vllm.v1.worker.cpu_worker",)
"""Modules of an engine on the CPU."""


def preload(*, on_cpu: bool) -> None:
    """Import what engine processes would import.

    Raises:
        ImportError: A module of every engine is missing, or does not import.
    """
    for name in ENGINE_MODULES:
        import_module(name)
    for name in (*USEFUL_MODULES, *(CPU_MODULES if on_cpu else ())):
        try:
            import_module(name)
        except ImportError:
            continue
