"""What a provider is declared to give, held against what overrides it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from dependency_injector import providers, resources

from containers.errors import GraphError
from containers.graph.injections import CALLING
from containers.graph.node import Node, Provider

DEFAULT_HINT = "Pass or override it with an object of that type."

_ALSO: dict[Any, tuple[type, ...]] = {float: (int,), complex: (int, float)}
_BUILDER_CLASSES = (resources.Resource, resources.AsyncResource)


@dataclass(frozen=True, slots=True)
class Expected:
    """Tells, in a builder's return annotation, what stands in for its object.

    ``-> Annotated[Any, Expected("a loaded tokenizer", has=("encode", "decode"))]``
    leaves the type open, as that of a library which is imported late must be, and
    still lets :meth:`containers.graph.Graph.check` refuse the override of a string.

    Attributes:
        what: What it must be, with its article.
        has: Attributes it must have.
        hint: What to do about a wrong one.
    """

    what: str
    has: tuple[str, ...] = ()
    hint: str = DEFAULT_HINT


def check_override(node: Node) -> None:
    """Refuse an override that cannot be what the provider is declared to give.

    Annotations are read leniently: a double may have any class of its own. What is
    built into Python (text, a number, a class, a coroutine) stands for an object of a
    class only if it is one. A ``Dependency`` takes its ``instance_of`` at its word.

    Raises:
        GraphError: The override has the wrong type.
    """
    for declared in node.chain:
        if isinstance(declared, providers.Dependency):
            wanted = declared.instance_of
            found = _instance_misfit(node.provider, wanted)
            _refuse(node, Expected(_with_article(wanted.__name__)), found)
    if len(node.chain) > 1 and isinstance(node.provider, providers.Object):
        value = node.provider.provides
        for expected in _declared(node.chain[0]):
            if not _fits(value, expected):
                _refuse(node, _marker(expected), _described(value, expected))


def _refuse(node: Node, expected: Expected, found: str | None) -> None:
    if found is not None:
        raise GraphError(
            providers=(node.name,),
            reason=f"it must be {expected.what}, not {found}",
            hint=expected.hint,
        )


def _declared(provider: Provider) -> tuple[Any, ...]:
    """The annotation of what a provider gives, if it says anything."""
    builder = getattr(provider, "provides", None)
    if not isinstance(provider, CALLING):
        return ()
    if inspect.isclass(builder):
        return () if issubclass(builder, _BUILDER_CLASSES) else (builder,)
    try:
        hints = get_type_hints(builder, include_extras=True)
    except Exception:  # noqa: BLE001  # names imported for type checkers alone, and more
        return ()
    given = hints.get("return", Any)
    if inspect.isgeneratorfunction(builder) or inspect.isasyncgenfunction(builder):
        return get_args(given)[:1]
    return (given,)


def _fits(value: Any, wanted: Any) -> bool:
    if get_origin(wanted) is Annotated:
        names = _marker(wanted).has
        is_whole = not inspect.isclass(value) and all(hasattr(value, n) for n in names)
        return is_whole if names else _fits(value, wanted.__origin__)
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(value, part) for part in get_args(wanted))
    kind = get_origin(wanted) or wanted
    if kind is Any or not inspect.isclass(kind) or not _is_plain(value):
        return True
    try:
        return isinstance(value, (kind, *_ALSO.get(kind, ())))
    except TypeError:
        return True  # a protocol or typed dict that cannot be asked


def _marker(wanted: Any) -> Expected:
    for mark in getattr(wanted, "__metadata__", ()):
        if isinstance(mark, Expected):
            return mark
    if get_origin(wanted) is Annotated:
        return _marker(wanted.__origin__)
    return Expected(_with_article(getattr(wanted, "__name__", str(wanted))))


def _described(value: Any, wanted: Any) -> str:
    if value is None or inspect.isclass(value):
        return "None" if value is None else f"the class {value.__name__}"
    found = _with_article(type(value).__name__)
    if _is_plain(value):
        return found
    missing = [name for name in _marker(wanted).has if not hasattr(value, name)]
    return f"{found}, which has no {' and no '.join(missing)}"


def _with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def _is_plain(value: Any) -> bool:
    is_built_in = type(value).__module__ == "builtins"
    return is_built_in or inspect.isclass(value) or inspect.isawaitable(value)


def _instance_misfit(provider: Provider, wanted: type) -> str | None:
    """Type of what a provider gives, if it is known without a call and wrong."""
    match provider:
        case providers.Configuration():
            return None
        case providers.Object():
            given = provider.provides
            is_right = isinstance(given, wanted)
            return None if is_right else _with_article(type(given).__name__)
        case providers.Factory() | providers.BaseSingleton():
            made: Any = provider.provides
            is_wrong = inspect.isclass(made) and not _is_subclass(made, wanted)
            return _with_article(made.__name__) if is_wrong else None
    return None


def _is_subclass(found: type, wanted: type) -> bool:
    try:
        return issubclass(found, wanted)
    except TypeError:
        return True  # a protocol with attributes can only be asked about an object
