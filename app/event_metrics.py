"""What happens to models, as Prometheus metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from containers.registry import ModelRegistry
from containers.registry.events import Kind

COUNTERS: dict[Kind, tuple[str, str]] = {
    "load": ("vllm_di_loads", "Times a model was loaded because it was asked for."),
    "unload": ("vllm_di_unloads", "Times a model gave its memory back."),
    "heal": ("vllm_di_heals", "Times an engine was replaced."),
    "give up": ("vllm_di_given_up", "Times an engine could not be replaced."),
}
RELOADS = "vllm_di_reloads"


@contextmanager
def counted(reloads: Counter[str]) -> Iterator[None]:
    """Count a reload by its outcome: ``done``, or ``refused``."""
    try:
        yield
    except BaseException:
        reloads["refused"] += 1
        raise
    reloads["done"] += 1


def event_metrics(registry: ModelRegistry) -> bytes:
    """The metrics of an app's models in Prometheus' text format."""
    collectors = CollectorRegistry()
    collectors.register(_Events(registry))
    return generate_latest(collectors)


class _Events(Collector):
    """Reads them when it is asked, so that a model's go with the model."""

    def __init__(self, registry: ModelRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        names = {model.name for model in self._registry}
        for kind, (name, text) in COUNTERS.items():
            family = CounterMetricFamily(name, text, labels=["model_name", "cause"])
            for model, cause, n in self._registry.events.of(kind):
                if model in names:
                    family.add_metric([model, cause], n)
            yield family
        reloads = CounterMetricFamily(RELOADS, "Reloads.", labels=["outcome"])
        for outcome, n in self._registry.events.reloads.items():
            reloads.add_metric([outcome], n)
        yield reloads
        yield from self._generations()

    def _generations(self) -> Iterator[Metric]:
        label = ["model_name"]
        number = GaugeMetricFamily(
            "vllm_di_generation", "Number of the current generation.", labels=label
        )
        ready = GaugeMetricFamily(
            "vllm_di_model_ready", "1 while the model is loaded.", labels=label
        )
        start = GaugeMetricFamily(
            "vllm_di_generation_start_seconds",
            "Seconds the start of the current generation took.",
            labels=label,
        )
        for model in self._registry:
            number.add_metric([model.name], model.generation.number)
            ready.add_metric([model.name], float(model.is_ready))
            if model.history:
                start.add_metric([model.name], model.history[-1].seconds)
        yield from (number, ready, start)
