"""Questions about a container's graph, answered without calling its providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

from dependency_injector import providers

from containers.errors import GraphError
from containers.graph import checks, order, pictures
from containers.graph.node import Node
from containers.graph.pictures import Spans
from containers.graph.reading import read


class Graph:
    """Who uses whom in a container, overrides included.

    It is a snapshot: a provider overridden later does not change it. A ``Selector``
    counts with all its branches, since which one is taken shows only when it is called.

    Args:
        nodes: Nodes by name; :meth:`of` reads them from a container.
    """

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = MappingProxyType(dict(nodes))

    @classmethod
    def of(cls, container: Any) -> Self:
        """Read the graph of a container; nothing in it is called."""
        return cls(read(container))

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes by provider name, in the order of declaration."""
        return self._nodes

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the providers that are loaded once at the start."""
        return tuple(name for name, node in self._nodes.items() if node.is_resource)

    @property
    def roots(self) -> tuple[str, ...]:
        """Resources that a start loads unless told otherwise.

        All of them but those that only overridden providers would have used, and parts
        that nobody uses.
        """
        unused = self._left_unused()
        return tuple(name for name in self.resources if name not in unused)

    def require(self, name: str) -> Node:
        """Node of that name.

        Raises:
            GraphError: There is none; the hint names the nearest one.
        """
        if name in self._nodes:
            return self._nodes[name]
        near = get_close_matches(name, self._nodes, n=1)
        raise GraphError(
            providers=(name,),
            reason="the container has no such provider",
            hint=f"Did you mean {near[0]}?" if near else _list_of(self._nodes),
        )

    def upstream(self, names: Iterable[str]) -> frozenset[str]:
        """These providers and all they need, however indirectly."""
        return self._reach(names, {n: node.targets for n, node in self._nodes.items()})

    def downstream(self, names: Iterable[str]) -> frozenset[str]:
        """These providers and all that need them, however indirectly."""
        return self._reach(names, self._users)

    def resources_under(self, name: str) -> tuple[str, ...]:
        """Nearest resources a provider needs, found through whatever lies between."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        todo = list(self.require(name).targets)
        while todo:
            target = todo.pop(0)
            if target not in seen:
                seen.add(target)
                node = self._nodes[target]
                if node.is_resource:
                    found[target] = None
                else:
                    todo.extend(node.targets)
        return tuple(found)

    def resource_edges(self) -> dict[str, tuple[str, ...]]:
        """Which resources each one that a start loads needs, lowest first.

        Providers between two resources are passed over, and an edge that a longer way
        implies is left out.

        Raises:
            GraphError: There is a cycle.
        """
        names = [
            name
            for level in self.levels(self.roots)
            for name in level
            if self._nodes[name].is_resource
        ]
        return order.essential({name: self.resources_under(name) for name in names})

    def singletons_over(self, name: str) -> tuple[providers.BaseSingleton[Any], ...]:
        """Singletons that may hold a provider's object, however indirectly."""
        users = self.downstream([name])
        nodes = [node for user, node in self._nodes.items() if user in users]
        found = (p for node in nodes for p in (*node.chain, *node.inner))
        return tuple(p for p in found if isinstance(p, providers.BaseSingleton))

    def path(self, root: str, name: str) -> tuple[str, ...]:
        """Shortest way along the edges from ``root`` down to ``name``, both included.

        Raises:
            GraphError: ``root`` does not need ``name``.
        """
        uses = {user: node.targets for user, node in self._nodes.items()}
        found = order.path(uses, self.require(root).name, name)
        if found is None:
            raise GraphError(
                providers=(root, name),
                reason="the first does not need the second",
                hint="Ask for a path along the edges, from a user to what it uses.",
            )
        return found

    def levels(self, names: Iterable[str] | None = None) -> tuple[tuple[str, ...], ...]:
        """Names by level: each needs only names of earlier levels.

        Args:
            names: Limit to these and what they need; everything by default.

        Raises:
            GraphError: There is a cycle.
        """
        wanted = self.upstream(self._nodes if names is None else names)
        return order.levels(
            {n: self._nodes[n].targets for n in self._nodes if n in wanted}
        )

    def check(self, names: Iterable[str] | None = None) -> None:
        """Find what would go wrong at the start, before anything starts.

        Args:
            names: Look at these and what they need; at everything by default.

        Raises:
            GraphError: A cycle, an undefined dependency, a provider hidden in a plain
                list, dict, tuple or set, a builder that does not accept what the graph
                passes, or an override of the wrong type.
        """
        for level in self.levels(names):
            for name in level:
                checks.check_node(self._nodes[name])

    def text(self, spans: Spans | None = None) -> str:
        """Picture of the levels, one provider a line with what it uses.

        Args:
            spans: Times of the last start by resource name, here and for the other
                pictures; text and drawing then show the start-up waterfall.
        """
        return pictures.text(self._nodes, self.levels(), spans or {})

    def mermaid(self, spans: Spans | None = None) -> str:
        """Picture as a Mermaid flowchart, edges from what is used to its user.

        Here and in the other drawings an edge that a longer way implies is left out.
        """
        return pictures.mermaid(self._nodes, self._essential(), spans or {})

    def dot(self, spans: Spans | None = None) -> str:
        """Picture in Graphviz' language."""
        return pictures.dot(self._nodes, self._essential(), spans or {})

    def svg(self, spans: Spans | None = None) -> str:
        """Picture as an SVG image."""
        return pictures.svg(self._nodes, self._essential(), self.levels(), spans or {})

    def _essential(self) -> dict[str, tuple[str, ...]]:
        self.levels()  # a cycle has no essential edges
        return order.essential({n: node.targets for n, node in self._nodes.items()})

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        users: dict[str, set[str]] = {name: set() for name in self._nodes}
        for name, node in self._nodes.items():
            for target in node.targets:
                users[target].add(name)
        return users

    def _left_unused(self) -> set[str]:
        users = self._users
        todo = [name for node in self._nodes.values() for name in node.replaced]
        todo += [name for name, node in self._nodes.items() if node.is_part]
        unused: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in unused and not users[name] - unused:
                unused.add(name)
                todo.extend(self._nodes[name].targets)
        return unused

    def _reach(
        self, names: Iterable[str], neighbours: Mapping[str, Iterable[str]]
    ) -> frozenset[str]:
        todo = [self.require(name).name for name in names]
        seen: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(neighbours[name])
        return frozenset(seen)


def _list_of(names: Iterable[str]) -> str:
    return f"It has {', '.join(names) or 'none at all'}."
