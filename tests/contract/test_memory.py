"""What we say of memory is what vLLM's own KV cache takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from containers.testing import tiny_model
from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.memory import (
    cpu_memory_bytes,
    is_on_cpu,
    kv_cache_bytes_of_longest_request,
    n_shards,
)


def configured(folder: Path, **arguments: Any) -> Any:
    return create_vllm_config(
        model=str(folder),
        served_model_name=["tiny"],
        arguments={"max_model_len": 1024, "enforce_eager": True, **arguments},
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_the_longest_request_takes_what_vllms_specification_says(
    dtype: str, tiny_folder: Path
) -> None:
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    config = configured(tiny_folder, dtype=dtype)
    model, parallel = config.model_config, config.parallel_config
    a_layer = FullAttentionSpec(
        block_size=128,
        num_kv_heads=model.get_num_kv_heads(parallel),
        head_size=model.get_head_size(),
        dtype=model.dtype,
    )
    needed = a_layer.max_memory_usage_bytes(config) * model.get_num_layers(parallel)
    assert kv_cache_bytes_of_longest_request(config) == needed > 0


def test_a_model_with_a_sliding_window_is_left_to_vllm(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path)
    path = folder / "config.json"
    settings = json.loads(path.read_text())
    settings |= {
        "architectures": ["MistralForCausalLM"],
        "model_type": "mistral",
        "sliding_window": 64,
    }
    path.write_text(json.dumps(settings))
    assert kv_cache_bytes_of_longest_request(configured(folder)) is None


def test_device_and_shards_are_read_from_the_configuration(tiny_folder: Path) -> None:
    config = configured(tiny_folder)
    assert is_on_cpu(config) == (config.device_config.device.type == "cpu")
    assert n_shards(config) == 1


def test_no_more_memory_is_available_than_there_is() -> None:
    total, available = cpu_memory_bytes()
    assert total >= available > 0
