"""A vLLM as its source text tells it: where names are, and what they take."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.expr


@dataclass(frozen=True)
class Place:
    """Where a name is defined.

    Attributes:
        module: The module, such as ``vllm.outputs``.
        name: What it is called there.
        node: Its definition.
    """

    module: str
    name: str
    node: Definition


class Source:
    """The Python files of one release.

    Args:
        folder: The folder that holds ``vllm``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.module = cache(self._module)

    def find(self, module: str, name: str) -> Place | None:
        """What a module calls ``name``, followed to where it is defined."""
        found = self.module(module)
        meant = found.names.get(name) if found else None
        if isinstance(meant, tuple):
            return self.find(*meant) if meant != (module, name) else None
        return Place(module, name, meant) if meant is not None else None

    def offers(self, module: str, name: str) -> bool:
        """Whether ``name`` can be imported from ``module``."""
        found = self.module(module)
        return found is not None and (name in found.names or self._is_lazy(found, name))

    def defining(self, name: str) -> list[str]:
        """Every module that defines a class, function or value of this name."""
        pattern = re.compile(
            rf"^(class|(async )?def) {name}\b|^{name}\b *[:=]", re.MULTILINE
        )
        modules = []
        for file in sorted((self._folder / "vllm").rglob("*.py")):
            if pattern.search(file.read_text(encoding="utf-8")):
                parts = file.relative_to(self._folder).with_suffix("").parts
                modules.append(".".join(parts).removesuffix(".__init__"))
        return modules

    def bases(self, place: Place) -> Iterator[Place]:
        """A class and those it inherits from, as far as they are vLLM's."""
        yield place
        if not isinstance(place.node, ast.ClassDef):
            return
        for base in place.node.bases:
            name = ast.unparse(base).partition("[")[0]
            found = self.find(place.module, name)
            if found is not None:
                yield from self.bases(found)

    def _module(self, name: str) -> _Module | None:
        place = self._folder.joinpath(*name.split("."))
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return _Module(file, name)
        return None

    def _is_lazy(self, module: _Module, name: str) -> bool:
        """Whether the module looks names up by itself and mentions this one."""
        return "__getattr__" in module.names and repr(name) in module.strings


class _Module:
    """One file's names."""

    def __init__(self, file: Path, name: str) -> None:
        self._tree = ast.parse(file.read_text(encoding="utf-8"))
        self._package = name if file.name == "__init__.py" else name.rpartition(".")[0]

    @cached_property
    def strings(self) -> set[str]:
        """Every plain text in it, quoted."""
        constants = (n for n in ast.walk(self._tree) if isinstance(n, ast.Constant))
        return {repr(each.value) for each in constants}

    @cached_property
    def names(self) -> dict[str, Definition | tuple[str, str]]:
        """Definitions, and (module, name) of what is imported."""
        return dict(self._names(self._tree.body))

    def _names(
        self, body: list[ast.stmt]
    ) -> Iterator[tuple[str, Definition | tuple[str, str]]]:
        for node in body:
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    yield node.name, node
                case ast.ImportFrom():
                    module = self._absolute(node)
                    for alias in node.names:
                        yield alias.asname or alias.name, (module, alias.name)
                case ast.Assign() | ast.AnnAssign() if node.value is not None:
                    yield from ((name, node.value) for name in _targets(node))
                case ast.If():
                    yield from self._names(node.orelse)
                    yield from self._names(node.body)
                case ast.Try():
                    yield from self._names(node.body)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parents = self._package.split(".")
        parents = parents[: len(parents) - node.level + 1]
        return ".".join([*parents, *filter(None, [node.module])])


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    assigned = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [each.id for each in assigned if isinstance(each, ast.Name)]
