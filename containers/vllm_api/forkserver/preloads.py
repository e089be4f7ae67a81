"""What a fork server imports before it forks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

from containers.vllm_api.transformers_models import read_models_once

WHILE_IMPORTING = (50_000, 10, 1_000)
"""When to collect garbage while imports make objects that stay: what is new, now and
then. At the usual thresholds a sixth of their time goes into that."""


class Preloads(NamedTuple):
    """Modules that processes will import, by how much they matter.

    Attributes:
        needed: Without one of them nothing can be forked.
        useful: One that is missing is no loss.
    """

    needed: Sequence[str] = ()
    useful: Sequence[str] = ()

    def load(self) -> None:
        """Import them.

        Raises:
            ImportError: One that is needed is missing, or does not import.
        """
        if any(name.startswith("vllm.") for name in self.needed):
            read_models_once()
        for name in self.needed:
            import_module(name)
        for name in self.useful:
            with suppress(Exception):  # who needs it will be told why
                import_module(name)


ENGINE = Preloads(
    needed=(
        "vllm.v1.engine.core",
        "vllm.v1.engine.utils",
        "vllm.v1.engine.coordinator",
        "vllm.v1.executor.multiproc_executor",
        "vllm.v1.structured_output",
        "vllm.model_executor.model_loader.default_loader",
        "vllm.transformers_utils.config",
        "containers.vllm_api.parent_watch",
        "containers.vllm_api.tokenizer_ahead",
    ),
    useful=(
        "containers.log_format",
        "containers.vllm_api.forkserver.process",
        "containers.vllm_api.forkserver.seams",
        "vllm.distributed.elastic_ep.elastic_execute",
        "vllm.model_executor.layers.quantization.online.base",
        "vllm.model_executor.models.llama",
        "vllm.plugins.lora_resolvers.filesystem_resolver",
        "vllm.plugins.lora_resolvers.hf_hub_resolver",
        "vllm.v1.core.sched.scheduler",
        "vllm.v1.pool.flash_maxsim",
    ),
)
"""What every engine imports, and what most of them do while they start."""

CPU_ENGINE = Preloads(
    ENGINE.needed,
    (
        "vllm.v1.worker.cpu_worker",
        "vllm.utils.cpu_triton_utils",
        "vllm.v1.attention.backends.cpu_attn",
        *ENGINE.useful,
    ),
)
"""The same for an engine on the CPU."""
