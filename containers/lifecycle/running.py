"""A started container as plain objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from difflib import get_close_matches
from types import SimpleNamespace
from typing import Any

from dependency_injector import containers, providers

from containers.errors import StopError
from containers.lifecycle.blame import note_trouble
from containers.lifecycle.container import lifecycle_of
from containers.lifecycle.lifecycle import Lifecycle

# Kinds that give the same object each time they are asked.
_LASTING = (providers.Object, providers.Dependency, providers.BaseSingleton)


class Running(SimpleNamespace):
    """Loaded objects of a started container, by provider name.

    A snapshot: plain attributes, read at no cost, from any thread. What a
    ``Factory`` makes is not among them, since each call makes another.
    """

    def __init__(self, objects: Mapping[str, Any]) -> None:
        super().__init__(**objects)

    def __getattr__(self, name: str) -> Any:
        near = get_close_matches(name, vars(self), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {_names(self)}"
        raise AttributeError(
            f"no loaded object is called {name!r}: {hint}", name=name, obj=self
        )

    def __dir__(self) -> list[str]:
        return sorted(vars(self))

    def __repr__(self) -> str:
        return f"Running({_names(self)})"


@asynccontextmanager
async def running(
    container: containers.Container,
    *roots: str,
    timeout_s: float | None = None,
    resource_timeout_s: float | None = None,
    stop_timeout_s: float | None = None,
) -> AsyncIterator[Running]:
    """Start a container, and stop it at the end of the block.

    Blocks may overlap: the last one to end stops the container. One that was started
    by other means is left running.

    Args:
        container: Any container instance.
        roots: Names of the providers wanted; all resources by default.
        timeout_s: Seconds for the whole start; unlimited by default.
        resource_timeout_s: Seconds for each builder; unlimited by default.
        stop_timeout_s: Seconds for the stop; the lifecycle's own by default.

    Yields:
        The loaded objects.

    Raises:
        GraphError: The graph cannot be started.
        StartError: A resource did not start; nothing is left loaded.
        StopError: A resource did not close cleanly. An error of the block itself is
            raised instead, with a note for each of these.
    """
    lifecycle = lifecycle_of(container)
    is_ours = await lifecycle.start(
        *roots, timeout_s=timeout_s, resource_timeout_s=resource_timeout_s
    )
    if is_ours or lifecycle.n_blocks:
        lifecycle.n_blocks += 1
    try:
        yield Running(_objects(lifecycle, roots))
    except BaseException as error:
        try:
            await _leave(lifecycle, stop_timeout_s)
        except StopError as trouble:
            note_trouble(error, trouble)
        raise
    await _leave(lifecycle, stop_timeout_s)


async def _leave(lifecycle: Lifecycle, stop_timeout_s: float | None) -> None:
    if lifecycle.n_blocks:
        lifecycle.n_blocks -= 1
        if lifecycle.n_blocks == 0:
            await lifecycle.stop(timeout_s=stop_timeout_s)


def _objects(lifecycle: Lifecycle, roots: tuple[str, ...]) -> dict[str, Any]:
    graph = lifecycle.graph
    wanted = graph.upstream(roots or graph.roots)
    loaded = lifecycle.objects
    objects: dict[str, Any] = {}
    for name, node in graph.nodes.items():
        if name in loaded:
            objects[name] = loaded[name]
        elif name in wanted and isinstance(node.provider, _LASTING):
            objects[name] = node.chain[0]()
    return objects


def _names(namespace: SimpleNamespace) -> str:
    return ", ".join(vars(namespace))
