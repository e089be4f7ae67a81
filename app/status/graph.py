"""The resources of a model: what each needs, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from dependency_injector.containers import Container

from containers.graph import Graph
from containers.lifecycle import Record, State, lifecycle_of
from containers.masks import masked
from containers.registry.generation import Generation

Edges = Mapping[str, tuple[str, ...]]

_edges: WeakKeyDictionary[Container, Edges] = WeakKeyDictionary()


def resources(generation: Generation) -> list[dict[str, Any]]:
    """Each resource of a generation as JSON has it, what is needed before its users.

    Those that a start would load are listed before it too, as ``not started``.
    """
    container = generation.container
    lifecycle, edges = lifecycle_of(container), edges_of(container)
    records, objects = lifecycle.records, lifecycle.objects
    levels: dict[str, int] = {}
    for name, needs in edges.items():
        levels[name] = 1 + max((levels[need] for need in needs), default=0)
    found = [records.get(name) or Record(name) for name in edges]
    return [
        {
            **record_content(record),
            "is_kept": is_kept(record, generation),
            "is_left_out": name in objects and objects[name] is None,
            "needs": needs,
            "level": levels[name],
        }
        for record, (name, needs) in zip(found, edges.items(), strict=True)
    ]


def edges_of(container: Container) -> Edges:
    """What each resource needs; read once for each container."""
    if container not in _edges:
        _edges[container] = Graph.of(container).resource_edges()
    return _edges[container]


def is_kept(record: Record, generation: Generation) -> bool:
    """Whether a generation has a resource from one before it."""
    if record.started_at is None or generation.number == 1:
        return False
    return generation.began_at is None or record.started_at < generation.began_at


def record_content(record: Record) -> dict[str, Any]:
    """A record as JSON has it."""
    seconds = record.seconds
    return {
        "name": record.name,
        "state": record.state,
        "started_at": record.started_at,
        "seconds": None if seconds is None else round(seconds, 4),
        "error": masked(record.error) if record.state is State.FAILED else None,
    }
