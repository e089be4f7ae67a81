"""What an engine will ask of memory, as far as its configuration tells."""

from __future__ import annotations

from typing import Any

from containers import vllm_api

_FULL = {"full_attention"}


def is_on_cpu(vllm_config: Any) -> bool:
    """Whether the engine runs on the CPU."""
    return str(vllm_config.device_config.device_type) == "cpu"


def cpu_memory_bytes() -> tuple[int, int]:
    """Total and available bytes of the CPU's memory nodes, within the group's limit.

    Source:
        vllm/v1/worker/cpu_worker.py ``CPUWorker.__init__`` (0.32.0).
    """
    nodes = [
        vllm_api.get_memory_node_info(node)
        for node in vllm_api.get_visible_memory_node()
    ]
    total = sum(int(node.total_memory) for node in nodes)
    return total, sum(int(node.available_memory) for node in nodes)


def n_shards(vllm_config: Any) -> int:
    """Devices that the weights of one copy of the model are split over."""
    parallel = vllm_config.parallel_config
    return int(parallel.tensor_parallel_size * parallel.pipeline_parallel_size)


def kv_cache_bytes_of_longest_request(vllm_config: Any) -> int | None:
    """Bytes of KV cache on one device that a request of ``max_model_len`` fills.

    Returns:
        ``None`` where it is not plain full attention in the model's own type, such as
        sliding windows, hybrid models, MLA or a quantized cache: only the loaded model
        knows then.

    Source:
        vllm/v1/kv_cache_interface.py ``FullAttentionSpec.max_memory_usage_bytes``
        (0.32.0).
    """
    model, parallel = vllm_config.model_config, vllm_config.parallel_config
    if vllm_config.cache_config.cache_dtype != "auto" or not _is_plain(model):
        return None
    if model.original_max_model_len == -1 or parallel.decode_context_parallel_size > 1:
        return None
    heads = model.get_num_kv_heads(parallel) * model.get_head_size()
    a_token = 2 * heads * model.get_num_layers(parallel) * model.dtype.itemsize
    return int(a_token * model.max_model_len)


def _is_plain(model: Any) -> bool:
    text = model.hf_text_config
    layer_types = set(getattr(text, "layer_types", None) or _FULL)
    windows = (model.get_sliding_window(), getattr(text, "attention_chunk_size", None))
    if model.use_mla or model.is_hybrid or model.is_attention_free:
        return False
    return layer_types == _FULL and not any(windows)
