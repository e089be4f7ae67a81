"""Every metric of ours by its name: what the documentation's table is held to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
)

Kind = Literal["counter", "gauge", "histogram", "summary"]

_MADE: dict[Kind, type[Any]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
    "summary": SummaryMetricFamily,
}


@dataclass(frozen=True, slots=True)
class Family:
    """One metric, its samples apart.

    Attributes:
        name: Its name, as documents and queries have it.
        kind: Prometheus' type.
        labels: Names of its labels, in order.
        text: What it tells.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    text: str

    def make(self) -> Any:
        """prometheus_client's family of this kind, without samples."""
        return _MADE[self.kind](self.name, self.text, labels=self.labels)


_ALL = (
    # Models and their generations
    Family(
        "vllm_di_model_ready", "gauge", ("model_name",), "1 while the model is loaded."
    ),
    Family(
        "vllm_di_generation",
        "gauge",
        ("model_name",),
        "Number of the current generation.",
    ),
    Family(
        "vllm_di_generation_start_seconds",
        "gauge",
        ("model_name",),
        "Seconds the start of the current generation took.",
    ),
    Family(
        "vllm_di_starts_total",
        "counter",
        ("model_name", "cause"),
        "Generations that have started.",
    ),
    Family(
        "vllm_di_start_failures_total",
        "counter",
        ("model_name", "cause", "provider"),
        "Generations that have not, by the provider that failed.",
    ),
    Family(
        "vllm_di_drain_seconds",
        "summary",
        ("model_name",),
        "Seconds a generation waited for its requests before it was stopped.",
    ),
    Family(
        "vllm_di_stop_seconds",
        "summary",
        ("model_name",),
        "Seconds it took to stop a generation.",
    ),
    Family(
        "vllm_di_reloads_total",
        "counter",
        ("outcome",),
        "Reloads of settings: done, or refused.",
    ),
    Family(
        "vllm_di_heals_total",
        "counter",
        ("model_name", "cause"),
        "Engines replaced after a death or a hang.",
    ),
    Family(
        "vllm_di_given_up_total",
        "counter",
        ("model_name", "cause"),
        "Engines that could not be replaced.",
    ),
    Family(
        "vllm_di_loads_total",
        "counter",
        ("model_name", "cause"),
        "Times a model was loaded because it was asked for.",
    ),
    Family(
        "vllm_di_unloads_total",
        "counter",
        ("model_name", "cause"),
        "Times a model gave its memory back.",
    ),
    # Resources of the graph
    Family(
        "vllm_di_resource_state",
        "gauge",
        ("model_name", "provider", "state"),
        "1 for the state a resource of the current generation is in, else 0.",
    ),
    Family(
        "vllm_di_resource_seconds",
        "gauge",
        ("model_name", "provider"),
        "Seconds its builder took; missing while it is not loaded.",
    ),
    # The server
    Family(
        "vllm_di_server_state",
        "gauge",
        ("state",),
        "1 for the state the server is in, else 0.",
    ),
    Family(
        "vllm_di_server_drain_seconds",
        "gauge",
        (),
        "Seconds since the server began to drain; 0 before.",
    ),
    # Requests
    Family(
        "vllm_di_requests_total",
        "counter",
        ("route", "method", "status", "model_name"),
        "Requests answered.",
    ),
    Family(
        "vllm_di_request_seconds",
        "histogram",
        ("route", "model_name"),
        "Seconds from a request's arrival to the end of its answer.",
    ),
    Family(
        "vllm_di_request_first_token_seconds",
        "histogram",
        ("route", "model_name"),
        "Seconds from a request's arrival to its first token; streams only.",
    ),
    Family(
        "vllm_di_requests_in_flight",
        "gauge",
        ("route", "model_name"),
        "Requests being answered, those that wait for their model among them.",
    ),
    # Sessions
    Family(
        "vllm_di_sessions_total",
        "counter",
        ("route", "code", "model_name"),
        "Sessions over a WebSocket that have ended, by the code of their close.",
    ),
    Family(
        "vllm_di_session_seconds",
        "summary",
        ("route", "model_name"),
        "Seconds from a session's handshake to its end.",
    ),
    Family(
        "vllm_di_sessions_open",
        "gauge",
        ("route", "model_name"),
        "Sessions that go on.",
    ),
)

FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}
"""Every family by its name, in the order of the documentation."""
