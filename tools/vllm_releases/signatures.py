"""What a class or function takes, and what it offers, by its source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.vllm_releases.source import Place, Source

REQUIRED = "required"

Signature = dict[str, str]
"""Name of each parameter, in their order, to its default or ``required``."""


def signature(source: Source, place: Place) -> Signature | None:
    """What calling it takes; ``None`` for what is not called."""
    node = place.node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return dict(_parameters(node.args))
    if not isinstance(node, ast.ClassDef):
        return None
    family = list(source.bases(place))
    for each in family:
        init = _methods(each).get("__init__")
        if init is not None:
            return dict(list(_parameters(init.args))[1:])
    return fields(source, place)


def fields(source: Source, place: Place) -> Signature:
    """The public fields of a dataclass or model, inherited ones first."""
    found: Signature = {}
    for each in reversed(list(source.bases(place))):
        body = each.node.body if isinstance(each.node, ast.ClassDef) else []
        for statement in body:
            if isinstance(statement, ast.AnnAssign):
                name = ast.unparse(statement.target)
                if not name.startswith("_") and "ClassVar" not in ast.unparse(
                    statement.annotation
                ):
                    found[name] = _default(statement.value)
    return found


def members(source: Source, place: Place) -> dict[str, Signature]:
    """Public methods and properties of a class, and what each takes."""
    found: dict[str, Signature] = {}
    for each in reversed(list(source.bases(place))):
        for name, method in _methods(each).items():
            if not name.startswith("_"):
                found[name] = dict(_parameters(method.args))
    return found


def _methods(place: Place) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    body = place.node.body if isinstance(place.node, ast.ClassDef) else []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name: each for each in body if isinstance(each, kinds)}


def _parameters(arguments: ast.arguments) -> Iterator[tuple[str, str]]:
    places = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(places) - len(arguments.defaults)) + arguments.defaults
    for place, default in zip(places, defaults, strict=True):
        yield place.arg, _default(default)
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}", ""
    for keyword, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield keyword.arg, _default(value)
    if arguments.kwarg:
        yield f"**{arguments.kwarg.arg}", ""


def _default(node: ast.expr | None) -> str:
    return REQUIRED if node is None else ast.unparse(node)
