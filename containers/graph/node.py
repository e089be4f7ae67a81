"""What the graph is made of: nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dependency_injector import providers

from containers.errors import GraphError

Provider = providers.Provider[Any]


class Edge(NamedTuple):
    """One use of a provider by another.

    Attributes:
        argument: Name of the argument that receives it, ``[0]`` for a positional one,
            ``override`` when one provider stands in for the other.
        target: Name of the provider used.
        accessor: What is taken from it, such as ``.provided.chat``; empty for all of
            it.
    """

    argument: str
    target: str
    accessor: str = ""

    def __str__(self) -> str:
        return f"{self.argument}={self.target}{self.accessor}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A provider with a name, as its overrides leave it.

    Attributes:
        name: Attribute name in the container; a resource declared inside an argument
            is called ``<user>.<argument>``.
        chain: The declared provider, then what overrides it, and so on; the last one
            is the one that really provides.
        edges: What the last one uses, in the order of its arguments.
        inner: Nameless providers among its arguments.
        replaced: Names that the declared provider would use were it not overridden.
        problems: What was found wrong while reading.
        targets: Names of the providers it uses, each once.
    """

    name: str
    chain: tuple[Provider, ...]
    edges: tuple[Edge, ...] = ()
    inner: tuple[Provider, ...] = ()
    replaced: tuple[str, ...] = ()
    problems: tuple[GraphError, ...] = ()
    targets: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Note whom it uses, which everybody asks."""
        targets = tuple(dict.fromkeys([edge.target for edge in self.edges]))
        object.__setattr__(self, "targets", targets)

    @property
    def provider(self) -> Provider:
        """The provider that is really called."""
        return self.chain[-1]

    @property
    def is_part(self) -> bool:
        """Whether it is declared as a part of others, of no use without them."""
        return getattr(self.chain[0], "is_part", False)

    @property
    def is_resource(self) -> bool:
        """Whether it is loaded once at the start, as opposed to made when asked."""
        return any(isinstance(p, providers.BaseResource) for p in self.chain)
