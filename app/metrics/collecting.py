"""Reading the metrics of an app when they are asked for.

Nothing is kept here: what a model has been through goes with the model, and what its
generations are made of with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from app.metrics.families import FAMILIES
from app.metrics.requests import Distribution, RequestCounts, Where
from app.phases import State as ServerState
from containers.lifecycle import State, lifecycle_of
from containers.registry import ServedModel
from containers.registry.events import Kind
from containers.registry.tally import Seconds

if TYPE_CHECKING:
    from app.service import Service

EVENTS: dict[str, Kind] = {
    "vllm_di_loads_total": "load",
    "vllm_di_unloads_total": "unload",
    "vllm_di_heals_total": "heal",
    "vllm_di_given_up_total": "give up",
}
Row = tuple[Iterable[str], Any]
"""Values of the labels, and of the sample."""


def own_metrics(service: Service) -> bytes:
    """The metrics of an app and its models in Prometheus' text format.

    Args:
        service: The app's; in any state.
    """
    collectors = CollectorRegistry()
    collectors.register(_Own(service))
    return generate_latest(collectors)


class _Own(Collector):
    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        models = self._service.models
        rows = {
            **_of_server(self._service),
            **_of_models(models),
            **_of_requests(self._service.requests, {m.name for m in models}),
        }
        for name, family in FAMILIES.items():
            made = family.make()
            for labels, value in rows[name]:
                made.add_metric([str(each) for each in labels], **value)
            yield made


def _of_server(service: Service) -> dict[str, Iterator[Row]]:
    names = {model.name for model in service.models}
    events = service.container.registry().events
    found = {
        name: _rows(
            ((model, cause), n) for model, cause, n in events.of(kind) if model in names
        )
        for name, kind in EVENTS.items()
    }
    states = get_args(ServerState)
    return found | {
        "vllm_di_reloads_total": _rows(
            ((key,), n) for key, n in events.reloads.items()
        ),
        "vllm_di_server_state": _rows(((s,), s == service.state) for s in states),
        "vllm_di_server_drain_seconds": _rows([((), service.drained_s)]),
    }


def _of_models(models: Iterable[ServedModel]) -> dict[str, Iterator[Row]]:
    each = tuple(models)
    return {
        "vllm_di_model_ready": _rows(((m.name,), m.is_ready) for m in each),
        "vllm_di_generation": _rows(((m.name,), m.generation.number) for m in each),
        "vllm_di_generation_start_seconds": _rows(
            ((m.name,), m.history[-1].seconds) for m in each if m.history
        ),
        "vllm_di_starts_total": _rows(
            ((m.name, cause), n) for m in each for cause, n in m.tally.starts.items()
        ),
        "vllm_di_start_failures_total": _rows(
            ((m.name, *key), n) for m in each for key, n in m.tally.failures.items()
        ),
        "vllm_di_drain_seconds": _summed(((m.name,), m.tally.drains) for m in each),
        "vllm_di_stop_seconds": _summed(((m.name,), m.tally.stops) for m in each),
        "vllm_di_resource_state": _rows(
            ((m.name, record.name, state), record.state is state)
            for m in each
            for record in lifecycle_of(m.container).records.values()
            for state in State
        ),
        "vllm_di_resource_seconds": _rows(
            ((m.name, record.name), record.seconds)
            for m in each
            for record in lifecycle_of(m.container).records.values()
            if record.seconds is not None
        ),
    }


def _of_requests(counts: RequestCounts, names: set[str]) -> dict[str, Iterator[Row]]:
    """Requests of the models there are now, and those that were for none."""
    known = {*names, ""}
    return {
        "vllm_di_requests_total": _rows(
            (key, n) for key, n in counts.answered.items() if key[-1] in known
        ),
        "vllm_di_request_seconds": _distributed(counts.seconds, known),
        "vllm_di_request_first_token_seconds": _distributed(counts.first_token, known),
        "vllm_di_requests_in_flight": _rows(
            (where, n) for where, n in counts.now().items() if where[-1] in known
        ),
        "vllm_di_sessions_total": _rows(
            (key, n) for key, n in counts.sessions.items() if key[-1] in known
        ),
        "vllm_di_session_seconds": _summed(
            (key, n) for key, n in counts.session_seconds.items() if key[-1] in known
        ),
        "vllm_di_sessions_open": _rows(
            (key, n) for key, n in counts.sessions_now().items() if key[-1] in known
        ),
    }


def _rows(values: Iterable[tuple[Iterable[Any], float]]) -> Iterator[Row]:
    return ((labels, {"value": float(value)}) for labels, value in values)


def _summed(values: Iterable[tuple[Iterable[str], Seconds]]) -> Iterator[Row]:
    for labels, seconds in values:
        yield labels, {"count_value": seconds.n, "sum_value": seconds.sum_s}


def _distributed(
    distributions: Mapping[Where, Distribution], known: set[str]
) -> Iterator[Row]:
    for where, seconds in distributions.items():
        if where[-1] in known:
            yield where, {"buckets": seconds.buckets, "sum_value": seconds.sum_s}
