"""The order a graph asks for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from containers.errors import GraphError


def levels(uses: Mapping[str, Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Names by level: each uses only names of earlier levels.

    Args:
        uses: What each name uses; names of a level keep this order.

    Raises:
        GraphError: There is a cycle.
    """
    sorter = TopologicalSorter(uses)
    try:
        sorter.prepare()
    except CycleError as error:
        # graphlib lists a cycle from what is used to its user.
        raise cycle(reversed(error.args[1])) from None
    rank = {name: index for index, name in enumerate(uses)}
    found = []
    while sorter.is_active():
        ready = sorter.get_ready()
        sorter.done(*ready)
        found.append(tuple(sorted(ready, key=rank.__getitem__)))
    return tuple(found)


def essential(uses: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """What each name uses, without what a longer way along other uses implies.

    Args:
        uses: What each name uses, without cycles; every name is a key.
    """
    reach: dict[str, set[str]] = {}
    for name in TopologicalSorter(uses).static_order():
        reach[name] = {name}.union(*(reach[target] for target in uses[name]))
    return {
        name: tuple(
            target
            for target in targets
            if not any(target in reach[other] for other in targets if other != target)
        )
        for name, targets in ((name, tuple(uses[name])) for name in uses)
    }


def path(
    uses: Mapping[str, Iterable[str]], top: str, end: str
) -> tuple[str, ...] | None:
    """Shortest way from a user down to what it uses, both included, or ``None``."""
    ways: dict[str, tuple[str, ...]] = {top: (top,)}
    todo = deque([top])
    while todo:
        here = todo.popleft()
        if here == end:
            return ways[here]
        for target in uses[here]:
            if target not in ways:
                ways[target] = (*ways[here], target)
                todo.append(target)
    return None


def cycle(names: Iterable[str]) -> GraphError:
    """The error of providers that use each other, first name again at the end."""
    return GraphError(
        providers=tuple(names),
        reason="providers use each other in a circle",
        hint="Let one of them take what it needs from a third.",
    )
