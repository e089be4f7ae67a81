"""What an engine is doing now, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from containers.vllm_api.metrics import EngineMetrics, shown_engines

_RUNNING = "vllm:num_requests_running"
_WAITING = "vllm:num_requests_waiting"
_KV_CACHE = "vllm:kv_cache_usage_perc"
_PROMPT = "vllm:prompt_tokens"
_GENERATION = "vllm:generation_tokens"
WANTED = {_RUNNING, _WAITING, _KV_CACHE, _PROMPT, _GENERATION}
"""Names of the metric families they are read from."""


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """What vLLM measures of one model's engine; all of them if it has replicas.

    Attributes:
        n_running: Requests it works on.
        n_waiting: Requests in its queue.
        kv_cache_usage: Part of its KV cache in use, 0 to 1; the fullest replica's.
        n_prompt_tokens: Prompt tokens since it started.
        n_generation_tokens: Tokens it has generated since.
    """

    n_running: int
    n_waiting: int
    kv_cache_usage: float
    n_prompt_tokens: int
    n_generation_tokens: int


def engine_figures() -> dict[str, EngineFigures]:
    """The figures of each engine that measures, by its model's name.

    Only what is asked for is collected, which takes less than ``/metrics`` does. Of two
    engines of a model, as during a reload, the one that started last counts.
    """
    return {each.model_name: _figures(each) for each in shown_engines()}


def _figures(metrics: EngineMetrics) -> EngineFigures:
    found: dict[str, list[float]] = {name: [0.0] for name in WANTED}
    for name, value in _samples(metrics.collectors):
        found[name].append(value)
    return EngineFigures(
        n_running=int(sum(found[_RUNNING])),
        n_waiting=int(sum(found[_WAITING])),
        kv_cache_usage=max(found[_KV_CACHE]),
        n_prompt_tokens=int(sum(found[_PROMPT])),
        n_generation_tokens=int(sum(found[_GENERATION])),
    )


def _samples(collectors: Sequence[Any]) -> Iterator[tuple[str, float]]:
    for collector in collectors:
        if collector._name in WANTED:  # noqa: SLF001  # the name it is registered by
            for family in collector.collect():
                for sample in family.samples:
                    if sample.name.removesuffix("_total") == family.name:
                        yield family.name, sample.value
