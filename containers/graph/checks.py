"""What can be known to go wrong before anything starts."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import Any

from dependency_injector import providers

from containers.errors import GraphError
from containers.graph.expected import check_override
from containers.graph.injections import CALLING
from containers.graph.node import Node, Provider


def check_node(node: Node) -> None:
    """Raise the first thing that is wrong with one provider's declaration.

    Raises:
        GraphError: See :meth:`containers.graph.Graph.check`.
    """
    for problem in node.problems:
        raise problem
    check_override(node)
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
