"""What can be known to go wrong before anything starts."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

from dependency_injector import providers

from containers.errors import GraphError
from containers.graph.injections import CALLING
from containers.graph.node import Node, Provider


def check_node(node: Node) -> None:
    """Raise the first thing that is wrong with one provider's declaration.

    Raises:
        GraphError: See :meth:`containers.graph.Graph.check`.
    """
    for problem in node.problems:
        raise problem
    _check_override_type(node)
    for provider in (node.provider, *node.inner):
        _check_signature(node.name, provider)


def _check_signature(name: str, provider: Provider) -> None:
    builder = getattr(provider, "provides", None) if _calls(provider) else None
    if builder is None or providers.is_provider(builder):
        return
    try:
        signature = inspect.signature(builder)
    except (TypeError, ValueError):
        return  # written in C without a signature: only a call can tell
    # Factories and callables may get the rest of their arguments when called.
    is_resource = isinstance(provider, providers.BaseResource)
    bind = signature.bind if is_resource else signature.bind_partial
    given: Any = provider
    try:
        bind(*given.args, **given.kwargs)
    except TypeError as error:
        called = getattr(builder, "__qualname__", repr(builder))
        raise GraphError(
            providers=(name,),
            reason=f"{called}{signature} {error}",
            hint=_signature_hint(signature, given.kwargs),
        ) from None


def _calls(provider: Provider) -> bool:
    return isinstance(provider, CALLING) and not isinstance(
        provider, providers.TypedConfigurationOption
    )


def _signature_hint(signature: inspect.Signature, given: dict[str, Any]) -> str:
    for name in given:
        if name not in signature.parameters:
            near = get_close_matches(name, signature.parameters, n=1)
            if near:
                return f"Did you mean {near[0]} for {name}?"
    return "Make the container's arguments and the builder's parameters agree."


def _check_override_type(node: Node) -> None:
    for declared in node.chain:
        if not isinstance(declared, providers.Dependency):
            continue
        wanted = declared.instance_of
        found = _misfit(node.provider, wanted)
        if found is not None:
            raise GraphError(
                providers=(node.name,),
                reason=f"it must be a {wanted.__name__}, not a {found.__name__}",
                hint="Pass or override it with an object of that type.",
            )


def _misfit(provider: Provider, wanted: type) -> type | None:
    """Type of what a provider gives, if it is known without a call and wrong."""
    match provider:
        case providers.Configuration():
            return None
        case providers.Object():
            given = provider.provides
            return None if isinstance(given, wanted) else type(given)
        case providers.Factory() | providers.BaseSingleton():
            made: Any = provider.provides
            is_wrong = inspect.isclass(made) and not _is_subclass(made, wanted)
            return made if is_wrong else None
    return None


def _is_subclass(found: type, wanted: type) -> bool:
    try:
        return issubclass(found, wanted)
    except TypeError:
        return True  # a protocol with attributes can only be asked about an object
