"""From a container's declarations to nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dependency_injector import providers

from containers.errors import GraphError
from containers.graph.injections import injections, overriding, source_of
from containers.graph.node import Edge, Node, Provider
from containers.graph.order import cycle

_PLAIN = (list, tuple, set, frozenset)


def read(container: Any) -> dict[str, Node]:
    """Nodes of a container by name, in the order of declaration."""
    reader = _Reader()
    reader.declare(container, prefix="")
    return reader.nodes()


class _Reader:
    """Gives every named provider, and every resource, its node."""

    def __init__(self) -> None:
        self._declared: dict[str, Provider] = {}
        self._names: dict[Provider, str] = {}

    def declare(self, container: Any, prefix: str) -> None:
        for name, provider in container.providers.items():
            if isinstance(provider, providers.Container):
                self.declare(provider.container, prefix=f"{prefix}{name}.")
            elif not isinstance(provider, providers.Self):
                self._declared[prefix + name] = provider
                self._names.setdefault(provider, prefix + name)

    def nodes(self) -> dict[str, Node]:
        for name, provider in self._declared.items():
            self._claim_overrides(name, provider)
        found: dict[str, Node] = {}
        # Reading a node may name resources that were declared inside an argument.
        while unread := [name for name in self._declared if name not in found]:
            for name in unread:
                found[name] = self._node(name)
        return found

    def _node(self, name: str) -> Node:
        reader = _NodeReader(self, name, names_inner=True)
        return reader.node(self._declared[name])

    def name_of(self, provider: Provider) -> str | None:
        return self._names.get(provider)

    def name_inner_resource(self, provider: Provider, owner: str, argument: str) -> str:
        name, count = f"{owner}.{argument}", 1
        while name in self._declared:
            count += 1
            name = f"{owner}.{argument}.{count}"
        self._declared[name] = provider
        self._names[provider] = name
        self._claim_overrides(name, provider)
        return name

    def _claim_overrides(self, name: str, provider: Provider) -> None:
        for override in chain_of(provider)[1:]:
            if _is_resource(override):
                self._names.setdefault(override, name)


class _NodeReader:
    """Follows the arguments of one named provider to other named ones."""

    def __init__(self, reader: _Reader, name: str, *, names_inner: bool) -> None:
        self._reader = reader
        self._name = name
        self._names_inner = names_inner
        self._inner: list[Provider] = []
        self._problems: list[GraphError] = []

    def node(self, declared: Provider) -> Node:
        chain = chain_of(declared)
        if overriding(chain[-1]) in chain:
            self._report_cycle(f"{self._name}'s override")
        edges = dict.fromkeys(self._edges(chain))
        replaced: list[str] = []
        for provider in chain[:-1]:
            reader = _NodeReader(self._reader, self._name, names_inner=False)
            replaced += [edge.target for edge in reader._uses(provider, "", "", ())]
        return Node(
            name=self._name,
            chain=chain,
            edges=tuple(edges),
            inner=tuple(dict.fromkeys(self._inner)),
            replaced=tuple(dict.fromkeys(replaced)),
            problems=tuple(self._problems),
        )

    def _edges(self, chain: tuple[Provider, ...]) -> Iterator[Edge]:
        for provider in chain:
            other = self._reader.name_of(provider)
            if other not in (None, self._name):
                yield Edge("override", str(other))
                return
        yield from self._uses(chain[-1], "", "", ())

    def _uses(
        self, provider: Provider, argument: str, accessor: str, way: tuple[Any, ...]
    ) -> Iterator[Edge]:
        """Edges of everything a provider's declaration holds."""
        if provider in way:
            self._report_cycle(argument)
            return
        if isinstance(provider, providers.Dependency):
            self._report_undefined(argument)
        way = (*way, provider)
        if source := source_of(provider):
            whole, part = source
            yield from self._follow(whole, argument or "provides", part + accessor, way)
        for label, value in injections(provider):
            yield from self._follow(value, _joined(argument, label), "", way)

    def _follow(
        self, value: Any, argument: str, accessor: str, way: tuple[Any, ...]
    ) -> Iterator[Edge]:
        """Edges to the named providers one injected value leads to."""
        if not isinstance(value, providers.Provider):
            self._report_hidden(value, argument)
            return
        chain = chain_of(value)
        names = [name for name in map(self._reader.name_of, chain) if name]
        if names:
            yield Edge(argument, names[0], accessor)
        elif self._names_inner and any(map(_is_resource, chain)):
            name = self._reader.name_inner_resource(value, self._name, argument)
            yield Edge(argument, name, accessor)
        else:
            self._inner.append(chain[-1])
            yield from self._uses(chain[-1], argument, accessor, way)

    def _report_cycle(self, argument: str) -> None:
        self._problems.append(cycle((self._name, argument, self._name)))

    def _report_undefined(self, argument: str) -> None:
        self._problem(
            (self._name, argument) if argument else (self._name,),
            "a dependency is not defined",
            f"Pass it when the container is made: Container({self._name}=...), "
            "or give the Dependency a default.",
        )

    def _report_hidden(self, value: Any, argument: str) -> None:
        if isinstance(value, dict):
            kind, members = "Dict", tuple(value.values())
        elif isinstance(value, _PLAIN):
            kind, members = "List", tuple(value)
        else:
            return
        for member in members:
            if providers.is_provider(member):
                self._problem(
                    (self._name, argument),
                    f"a provider is hidden in a plain {type(value).__name__}",
                    f"Use providers.{kind}, which injects its members' objects.",
                )
            self._report_hidden(member, argument)

    def _problem(self, names: tuple[str, ...], reason: str, hint: str) -> None:
        self._problems.append(GraphError(providers=names, reason=reason, hint=hint))


def chain_of(provider: Provider) -> tuple[Provider, ...]:
    """A provider, what overrides it, what overrides that; the last one provides."""
    override = overriding(provider)
    if override is None:
        return (provider,)
    chain = [provider]
    while (override := overriding(chain[-1])) is not None and override not in chain:
        chain.append(override)
    return tuple(chain)


def _is_resource(provider: Provider) -> bool:
    return isinstance(provider, providers.BaseResource)


def _joined(argument: str, label: str) -> str:
    if not argument:
        return label
    return argument + label if label[0] in "[." else f"{argument}.{label}"
