"""Container instances whose classic calls go through the lifecycle."""

from __future__ import annotations

from typing import Any

from dependency_injector import containers, providers

from containers.graph import Graph
from containers.lifecycle.lifecycle import Lifecycle
from containers.lifecycle.resource import Resource


class LoadedContainer(containers.DynamicContainer):
    """What a declarative container makes when this is its ``instance_type``.

    ``await container.init_resources()`` and ``await container.shutdown_resources()``,
    and whatever calls them such as dependency-injector's ``Lifespan``, then start and
    stop by the rules of :attr:`lifecycle`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lifecycle = Lifecycle(self)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, Resource):
            value.__set_name__(type(self), name)

    @property
    def lifecycle(self) -> Lifecycle:
        """The one lifecycle of this container."""
        return self._lifecycle

    def override(
        self, overriding: containers.Container | type[containers.Container]
    ) -> None:
        """Override the providers of the same names by those of another container.

        Raises:
            GraphError: It has a provider of a name that this one does not have.
        """
        graph = Graph.of(self)
        for name in overriding.providers:
            graph.require(name)
        super().override(overriding)

    async def init_resources(
        self,
        resource_type: type[providers.BaseResource[Any]] = providers.BaseResource,
    ) -> None:
        """Load all resources, or those of one type, and what they need.

        Raises:
            StartError: See :meth:`Lifecycle.start`, also for the other errors.
        """
        graph = Graph.of(self)
        roots = [
            name
            for name in graph.roots
            if any(isinstance(p, resource_type) for p in graph.nodes[name].chain)
        ]
        if roots:
            await self._lifecycle.start(*roots)

    async def shutdown_resources(
        self,
        resource_type: type[providers.BaseResource[Any]] = providers.BaseResource,  # noqa: ARG002  # what uses a resource closes with it
    ) -> None:
        """Close everything that is loaded, of whatever type.

        Raises:
            StopError: See :meth:`Lifecycle.stop`.
        """
        await self._lifecycle.stop()


def lifecycle_of(container: containers.Container) -> Lifecycle:
    """The one lifecycle of a ``LoadedContainer``; a new one for a plain container."""
    if isinstance(container, LoadedContainer):
        return container.lifecycle
    return Lifecycle(container)
