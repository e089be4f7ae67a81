"""What a provider's declaration holds, kind by kind.

Kinds are told by ``isinstance``: attributes lie, since configuration options,
dependencies and containers answer to any name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from dependency_injector import providers

from containers.graph.node import Provider

CALLING = (
    providers.BaseResource,
    providers.Callable,
    providers.Factory,
    providers.BaseSingleton,
)
_WITH_ATTRIBUTES = (providers.Factory, providers.BaseSingleton)


def overriding(provider: Provider) -> Provider | None:
    """The provider that stands in for this one, or ``None``."""
    if provider.last_overriding is not None:
        return provider.last_overriding
    if isinstance(provider, providers.Dependency):
        default: Provider | None = provider.default
        return default
    return None


_PARTS: tuple[tuple[type[Any], Callable[[Any], tuple[Any, str]]], ...] = (
    (providers.TypedConfigurationOption, lambda p: (p.option, ".as_()")),
    (providers.ConfigurationOption, lambda p: (_root_of(p), _path_of(p))),
    (providers.Delegate, lambda p: (p.provides, ".provider")),
    (providers.ProvidedInstance, lambda p: (p.provides, ".provided")),
    (providers.AttributeGetter, lambda p: (p.provides, f".{p.name}")),
    (providers.ItemGetter, lambda p: (p.provides, f"[{p.name!r}]")),
    (providers.MethodCaller, lambda p: (p.provides, ".call()")),
)


def source_of(provider: Provider) -> tuple[Any, str] | None:
    """What a provider that only takes a part takes it from, and which part.

    ``settings.provided.chat`` gives ``(settings.provided, ".chat")``.
    """
    part = _part_of(type(provider))  # type: ignore[arg-type]  # any class is hashable
    return part(provider) if part else None


@cache
def _part_of(kind: type[Any]) -> Callable[[Any], tuple[Any, str]] | None:
    return next((part for base, part in _PARTS if issubclass(kind, base)), None)


def injections(provider: Provider) -> Iterator[tuple[str, Any]]:
    """Each injected value with the name of its argument."""
    match provider:
        case providers.TypedConfigurationOption():
            return
        case providers.Selector():
            # Which branch is taken is known only when it is called: all count.
            yield "selector", provider.selector
            yield from _labelled("selector", provider.providers)
        case providers.Aggregate():
            yield from _labelled("aggregate", provider.providers)
        case providers.List() | providers.MethodCaller():
            yield from _arguments(provider)
        case providers.Dict():
            yield from _labelled("", provider.kwargs)
        case _ if isinstance(provider, CALLING):
            yield "provides", provider.provides
            yield from _arguments(provider)


def _arguments(provider: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"[{index}]", value) for index, value in enumerate(provider.args))
    if not isinstance(provider, providers.List):
        yield from provider.kwargs.items()
    if isinstance(provider, _WITH_ATTRIBUTES):
        yield from ((f".{key}", value) for key, value in provider.attributes.items())


def _labelled(label: str, values: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((f"{label}[{key!r}]", value) for key, value in values.items())


def _root_of(option: Any) -> Any:
    return option._get_root()  # noqa: SLF001  # the library has no public way


def _path_of(option: Any) -> str:
    return "".join(f".{segment}" for segment in option.get_name_segments())
