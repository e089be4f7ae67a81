"""What engines measure: kept apart for each of them, and shown together.

vLLM registers its metrics once for a whole process and removes those of an earlier
engine when the next one starts. Here each engine's are taken over as soon as it has
started, and one collector in the same registry shows them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PREFIX = "vllm:"
MODEL_LABEL = "model_name"


@dataclass(frozen=True, eq=False)
class EngineMetrics:
    """The metrics of one engine, shown until :meth:`discard`.

    Attributes:
        model_name: Name that each of its samples carries.
        collectors: What vLLM had registered for it.
    """

    model_name: str
    collectors: tuple[Any, ...]

    def discard(self) -> None:
        """Show them no more; a second call does nothing."""
        if self in _all.engines:
            _all.engines.remove(self)

    def collect(self) -> Iterator[Any]:
        """Its metric families, each sample with the model's name."""
        for collector in self.collectors:
            for family in collector.collect():
                family.samples = [self._named(sample) for sample in family.samples]
                yield family

    def _named(self, sample: Any) -> Any:
        if MODEL_LABEL in sample.labels:
            return sample
        labels = {MODEL_LABEL: self.model_name, **sample.labels}
        return sample._replace(labels=labels)


class _All:
    """A Prometheus collector of every engine's metrics, and of those of no engine."""

    def __init__(self) -> None:
        self.engines: list[EngineMetrics] = []
        self.others: dict[str, Any] = {}

    def describe(self) -> list[Any]:
        """No names: while an engine starts they are those of its own collectors."""
        return []

    def collect(self) -> Iterator[Any]:
        """Families of all engines; those of one name are made one."""
        families: dict[str, Any] = {}
        for metrics in tuple(self.engines):
            for family in metrics.collect():
                first = families.setdefault(family.name, family)
                if first is not family:
                    first.samples += family.samples
        yield from families.values()
        registered = {each._name for each in _registered()}  # noqa: SLF001  # see there
        for name, collector in tuple(self.others.items()):
            if name not in registered:
                yield from collector.collect()


_all = _All()


def take_metrics(model_name: str) -> EngineMetrics:
    """Take over what vLLM has just registered for an engine, and show it from now on.

    Args:
        model_name: Name of the model the engine serves.
    """
    metrics = EngineMetrics(model_name, _taken())
    _all.engines.append(metrics)
    return metrics


def shown_engines() -> tuple[EngineMetrics, ...]:
    """The metrics of every engine that is shown, the last started at the end."""
    return tuple(_all.engines)


def keep_metrics() -> None:
    """Keep showing vLLM's metrics of no engine, which a starting engine would remove.

    Its tool parsers count in such a one, for all models of the process.
    """
    _all.others |= {each._name: each for each in _taken()}  # noqa: SLF001  # see below


def _taken() -> tuple[Any, ...]:
    from prometheus_client import REGISTRY

    collectors = _registered()
    for each in collectors:
        REGISTRY.unregister(each)
    if _all not in REGISTRY._collector_to_names:  # noqa: SLF001  # see below
        REGISTRY.register(_all)
    return collectors


def _registered() -> tuple[Any, ...]:
    """vLLM's collectors in the registry of the process.

    Source:
        vllm/v1/metrics/prometheus.py ``unregister_vllm_metrics`` (0.32.0), which finds
        them the same way.
    """
    from prometheus_client import REGISTRY

    registered = tuple(REGISTRY._collector_to_names)  # noqa: SLF001  # as vLLM does
    return tuple(
        each for each in registered if getattr(each, "_name", "").startswith(PREFIX)
    )
