"""The check of memory: what can be known before the weights are loaded."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from app.checks.report import Report
from containers.errors import SettingsError, SourceError
from containers.settings import ModelSettings
from containers.source import Weights, weights_in
from containers.vllm_api.memory import (
    cpu_memory_bytes,
    is_on_cpu,
    kv_cache_bytes_of_longest_request,
    n_shards,
)

GIB, MIB = 2**30, 2**20
_FROM_FILES = {None, "auto", "hf", "safetensors", "pt", "mistral", "fastsafetensors"}


def check_weights(
    settings: ModelSettings, folder: str, report: Report, *, prefix: str
) -> Weights | None:
    """Check that a model folder has weights, and return what it has.

    Args:
        settings: The model's settings.
        folder: The model folder.
        report: Told how the check came out.
        prefix: What the name of the check begins with.
    """
    load_format = settings.engine.get("load_format")
    if load_format == "dummy":
        report.ok(f"{prefix}weights", "load_format dummy: random ones, none are read")
        return Weights(0, 0)
    if load_format not in _FROM_FILES:
        reason = f"load_format {load_format} is not looked into"
        report.not_tried(f"{prefix}weights", reason)
        return None
    return report.attempt(
        f"{prefix}weights",
        partial(_whole, settings.source, Path(folder)),
        _described,
    )


def check_memory(
    vllm_config: Any, weights: Weights | None, report: Report, *, prefix: str
) -> None:
    """Compare what weights and KV cache take with what there is.

    On a GPU nothing is compared but the KV cache with the longest request: whether the
    rest fits is known there alone.

    Args:
        vllm_config: The engine's configuration; ``None`` if there is none.
        weights: The model's weights; ``None`` if they are not known.
        report: Told how the check came out.
        prefix: What the name of the check begins with.
    """
    name = f"{prefix}memory"
    if vllm_config is None or weights is None:
        unknown = "vllm_config" if vllm_config is None else "weights"
        report.not_tried(name, f"there is nothing known of the {unknown}")
    elif is_on_cpu(vllm_config):
        report.attempt(name, lambda: _on_cpu(vllm_config, weights), str)
    elif report.attempt(name, lambda: _on_gpu(vllm_config, weights), str):
        report.not_tried(f"{prefix}gpu memory", "known on the GPU alone")


def _whole(source: str, folder: Path) -> Weights:
    weights = weights_in(folder)
    if weights.are_whole:
        return weights
    n_missing = len(weights.missing)
    more = f" and {n_missing - 1} more are" if n_missing > 1 else " is"
    raise SourceError(
        source=source,
        reason=f"{weights.missing[0]}{more} missing in {folder}"
        if n_missing
        else f"no weights in {folder}",
        hint="Complete the folder, or fetch it anew.",
    )


def _described(weights: Weights) -> str:
    files = "1 file" if weights.n_files == 1 else f"{weights.n_files} files"
    return f"{_size(weights.n_bytes)} in {files}"


def _on_cpu(vllm_config: Any, weights: Weights) -> str:
    """What fits, by the rules of vLLM's CPU worker."""
    cache = vllm_config.cache_config
    total, available = cpu_memory_bytes()
    kv_cache = cache.kv_cache_memory_bytes
    if kv_cache is None:
        wanted, share = int(total * cache.gpu_memory_utilization), weights.n_bytes
        what = f"engine.gpu_memory_utilization {cache.gpu_memory_utilization:g}"
        words = f"{what} of {_size(total)}, {_size(wanted)}"
        _fits(wanted, available, words, "engine.gpu_memory_utilization")
        _fits(share, wanted, f"weights of {_size(share)}", "models[].source")
        _longest_request_fits(vllm_config, wanted - share)
        return f"{words}, holds weights and KV cache; {_size(available)} are available"
    words = f"weights {_size(weights.n_bytes)} and KV cache {_size(kv_cache)}"
    _fits(weights.n_bytes + kv_cache, available, words, "engine.kv_cache_memory_bytes")
    _longest_request_fits(vllm_config, kv_cache)
    return f"{words}; {_size(available)} are available"


def _on_gpu(vllm_config: Any, weights: Weights) -> str:
    cache, n_gpus = vllm_config.cache_config, n_shards(vllm_config)
    if cache.kv_cache_memory_bytes is not None:
        _longest_request_fits(vllm_config, cache.kv_cache_memory_bytes)
    share = _size(weights.n_bytes // n_gpus)
    return (
        f"weights take about {share} of each of {n_gpus} GPU; they and the KV cache "
        f"get {cache.gpu_memory_utilization:g} of its memory"
    )


def _longest_request_fits(vllm_config: Any, kv_cache: int) -> None:
    needed = kv_cache_bytes_of_longest_request(vllm_config)
    n_tokens = vllm_config.model_config.max_model_len
    if needed is not None and needed > kv_cache:
        raise SettingsError(
            key="engine.max_model_len",
            reason=f"a request of {n_tokens} tokens takes {_size(needed)} of KV cache, "
            f"which has {_size(kv_cache)}",
            hint="Lower engine.max_model_len, or raise engine.kv_cache_memory_bytes.",
        )


def _fits(wanted: int, available: int, words: str, key: str) -> None:
    if wanted > available:
        raise SettingsError(
            key=key,
            reason=f"{words}: more than the {_size(available)} there are",
            hint="Lower it, or free memory.",
        )


def _size(n_bytes: int) -> str:
    if n_bytes < GIB:
        return f"{n_bytes / MIB:.1f} MiB"
    return f"{n_bytes / GIB:.2f} GiB"
