"""Overriding a container's providers for a test, with mistakes found at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary, ref

from dependency_injector import providers
from dependency_injector.containers import Container

from containers.errors import GraphError
from containers.graph import Graph
from containers.lifecycle import Resource, State, lifecycle_of

_owners: WeakKeyDictionary[Any, ref[Container]] = WeakKeyDictionary()


@contextmanager
def override(container: Container, **doubles: Any) -> Iterator[None]:
    """Put doubles in the place of a container's objects until the end of the block.

    The same as ``container.engine.override(...)`` for each, but what would have no
    effect, or a late one, is refused here.

    Args:
        container: A container that is not started yet.
        doubles: Loaded objects, or providers of such, by provider name.

    Raises:
        GraphError: There is no such provider, the container is started, a double has
            the wrong type, or another container has it already.
    """
    if not doubles.keys() <= container.providers.keys():
        _require_known(container, doubles)
    _require_not_started(container, tuple(doubles))
    with ExitStack() as stack:
        for name, double in doubles.items():
            stack.enter_context(_overridden(container.providers[name], double))
        Graph.of(container).check(doubles)
        claim_doubles(container)
        yield


def _require_known(container: Container, names: Iterable[str]) -> None:
    graph = Graph.of(container)
    for name in names:
        graph.require(name)


def refuse_late_overrides(container: Container) -> None:
    """Let ``container.engine.override(...)`` raise as well once it is started.

    Only a resource of a container that knows its own lifecycle can tell.
    """
    for name, provider in container.providers.items():
        if isinstance(provider, Resource) and "override" not in vars(provider):
            checked = _refused_when_started(container, name, provider.override)
            vars(provider)["override"] = checked


def claim_doubles(container: Container) -> None:
    """Note whose the container's doubles are: two would mix up their requests.

    Raises:
        GraphError: One belongs to another container.
    """
    for name, overriding in overrides_of(container).items():
        double = getattr(overriding[-1], "provides", None)
        is_double = isinstance(overriding[-1], providers.Object)
        if is_double and hasattr(double, "requests"):
            _claim(double, container, name)


def overrides_of(container: Any) -> Mapping[str, tuple[Any, ...]]:
    """What overrides each provider of a container, or of a container class, now."""
    return {
        name: tuple(provider.overridden)
        for name, provider in container.providers.items()
        if provider.overridden
    }


@contextmanager
def _overridden(provider: Any, double: Any) -> Iterator[None]:
    """Undo this override alone, and what was put over it; it may be undone already."""
    own = double if providers.is_provider(double) else providers.Object(double)
    provider.override(own)
    try:
        yield
    finally:
        while own in provider.overridden:
            provider.reset_last_overriding()


def _require_not_started(container: Container, names: tuple[str, ...]) -> None:
    if lifecycle_of(container).state in (State.STARTING, State.READY):
        raise GraphError(
            providers=names,
            reason="overridden after the start, when all was built without it",
            hint="Override first and start then, or make another container.",
        )


def _refused_when_started(
    container: Container, name: str, override_: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    @wraps(override_)
    def checked(provider: Any) -> Any:
        _require_not_started(container, (name,))
        return override_(provider)

    return checked


def _claim(double: Any, container: Container, name: str) -> None:
    found = _owners.get(double)
    owner = found() if found is not None else None
    if owner not in (None, container) and _is_in_use(owner, double):
        raise GraphError(
            providers=(name,),
            reason=f"another container has this very {type(double).__name__}",
            hint="Make one for each container.",
        )
    _owners[double] = ref(container)


def _is_in_use(owner: Any, double: Any) -> bool:
    return any(
        isinstance(override_, providers.Object) and override_.provides is double
        for overrides in overrides_of(owner).values()
        for override_ in overrides
    )
