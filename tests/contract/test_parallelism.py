"""vLLM's own parallelism, as far as the configuration that vLLM makes of the settings.

No engine of several workers starts here: that takes as many GPUs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from containers import ModelContainer, ModelSettings, running
from containers.errors import StartError
from containers.settings.parallelism import parallelism_of


async def resolved(folder: Path, engine: dict[str, Any]) -> Any:
    """vLLM's ``ParallelConfig`` of these engine arguments."""
    settings = ModelSettings(
        name="tiny", source=str(folder), engine={"enforce_eager": True, **engine}
    )
    async with running(ModelContainer(settings=settings), "vllm_config") as objects:
        return objects.vllm_config.parallel_config


@pytest.mark.parametrize(
    "engine",
    [
        {},
        {"tensor_parallel_size": 2},
        {"pipeline_parallel_size": 2},
        {"tensor_parallel_size": 2, "pipeline_parallel_size": 2},
        {"data_parallel_size": 2},
        {"data_parallel_size": 2, "tensor_parallel_size": 2},
        {"tensor_parallel_size": 2, "distributed_executor_backend": "mp"},
        {"tensor_parallel_size": 2, "distributed_executor_backend": "ray"},
        {"pipeline_parallel_size": 2, "distributed_executor_backend": "ray"},
    ],
    ids=str,
)
async def test_it_passes_through_and_we_count_as_vllm_does(
    engine: dict[str, Any], tiny_folder: Path
) -> None:
    config = await resolved(tiny_folder, engine)
    ours = parallelism_of(engine)
    assert config.world_size_across_dp == ours.n_workers
    assert (config.distributed_executor_backend == "ray") == ours.is_placed_by_ray
    for name in ("tensor_parallel_size", "pipeline_parallel_size"):
        assert getattr(config, name) == engine.get(name, 1)
    assert config.data_parallel_size == engine.get("data_parallel_size", 1)


@pytest.mark.parametrize(
    "engine",
    [
        {"tensor_parallel_size": 3},  # of two attention heads
        {"enable_expert_parallel": True, "tensor_parallel_size": 2},  # it has none
        {"tensor_parallel_size": 2, "distributed_executor_backend": "no.such.Class"},
    ],
    ids=str,
)
async def test_what_does_not_fit_is_told_before_an_engine_starts(
    engine: dict[str, Any], tiny_folder: Path
) -> None:
    with pytest.raises(StartError, match="vllm_config did not start"):
        await resolved(tiny_folder, engine)
