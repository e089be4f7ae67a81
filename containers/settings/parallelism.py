"""How many workers an engine has, and who starts them, by its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

_FACTORS = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "prefill_context_parallel_size",
    "data_parallel_size",
)


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How an engine is spread.

    Attributes:
        n_workers: Its workers, a GPU each; expert parallelism adds none.
        is_placed_by_ray: Whether Ray starts them, in other nodes too; otherwise they
            are processes beside the engine.
    """

    n_workers: int
    is_placed_by_ray: bool


def parallelism_of(engine: Mapping[str, Any]) -> Parallelism:
    """Read it from a model's engine arguments, as vLLM does.

    Source:
        vllm/config/parallel.py ``ParallelConfig.world_size_across_dp`` (0.32.0).
    """
    return Parallelism(
        n_workers=prod(int(engine.get(name) or 1) for name in _FACTORS),
        is_placed_by_ray=engine.get("distributed_executor_backend") == "ray",
    )
