"""What the source text of a module or class says, node by node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from containers.vllm_api.kinds import Choice, Kind
from containers.vllm_api.ranges import WORDS, Range


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """A module's statements, those of ``if TYPE_CHECKING: ... else: ...`` included."""
    for node in body:
        if isinstance(node, ast.If):
            yield from statements(node.body)
            yield from statements(node.orelse)
        else:
            yield node


def targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    """Names that an assignment gives a value to."""
    assigned = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in assigned if isinstance(target, ast.Name)]


def fields_of(node: ast.ClassDef) -> Iterator[ast.AnnAssign]:
    """Public fields of a dataclass."""
    for field in node.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(
            field.target, ast.Name
        ):
            continue
        is_class_variable = "ClassVar" in ast.unparse(field.annotation)
        if not field.target.id.startswith("_") and not is_class_variable:
            yield field


def name_of(field: ast.AnnAssign) -> str:
    """Name of a field."""
    return ast.unparse(field.target)


def members(node: ast.ClassDef) -> Kind:
    """An enum of numbers takes these, any other its members' names or texts."""
    names: list[Any] = []
    values: list[Any] = []
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            names += [name for name in targets(statement) if not name.startswith("_")]
            values += constants([statement.value])
    if values and all(isinstance(value, int) for value in values):
        return Choice(tuple(values))
    texts = (value for value in values if isinstance(value, str))
    return Choice(tuple(dict.fromkeys([*names, *texts])), ignores_case=True)


def constants(nodes: list[ast.expr]) -> Iterator[Any]:
    """Values of those that are plain ones."""
    for node in nodes:
        if isinstance(node, ast.Constant):
            yield node.value
        elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            yield ast.literal_eval(node)


def converted_first(node: ast.ClassDef) -> set[str]:
    """Fields whose values vLLM converts before it looks at their type."""
    found: set[str] = set()
    for method in node.body:
        marks = method.decorator_list if isinstance(method, ast.FunctionDef) else []
        for mark in marks:
            if isinstance(mark, ast.Call) and _is_early(mark):
                found.update(constants(mark.args))
    return found


def _is_early(mark: ast.Call) -> bool:
    modes = [each.value for each in mark.keywords if each.arg == "mode"]
    is_early = list(constants(modes)) in (["before"], ["plain"])
    return is_early and ast.unparse(mark.func) == "field_validator"


def declared_range(default: ast.expr | None) -> Range | None:
    """The range in a field's ``Field(default=1, ge=1)``, if it has one."""
    if not isinstance(default, ast.Call) or ast.unparse(default.func) != "Field":
        return None
    named = {each.arg: list(constants([each.value])) for each in default.keywords}
    bounds = {name: named[name][0] for name in WORDS if named.get(name)}
    return Range(**bounds) if bounds else None
