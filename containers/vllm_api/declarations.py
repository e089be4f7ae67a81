"""Types that vLLM's source text declares, read without importing any of it."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import cache, cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from containers.vllm_api import class_text as text
from containers.vllm_api.kinds import (
    ANYTHING,
    NULL,
    Choice,
    Kind,
    ListOf,
    MappingOf,
    Opaque,
    Record,
    Scalar,
    one_of,
    within,
)
from containers.vllm_api.ranges import Range
from containers.vllm_api.release import package_folder

_BUILTINS: dict[str, Kind] = {
    "Any": ANYTHING,
    "object": ANYTHING,
    "None": NULL,
    "bool": Scalar(bool),
    "int": Scalar(int),
    "float": Scalar(float),
    "str": Scalar(str),
    "list": ListOf(ANYTHING),
    "set": ListOf(ANYTHING),
    "tuple": ListOf(ANYTHING),
    "dict": MappingOf(ANYTHING),
    "type": Opaque("class"),
    "Callable": Opaque("function"),
    "Path": Scalar(str),
}
_LISTS = frozenset({"list", "set", "tuple", "frozenset", "Sequence", "Iterable"})
_MAPPINGS = frozenset({"dict", "Mapping", "MutableMapping"})
_WRAPPERS = frozenset({"Annotated", "SkipValidation", "Final"})
_CONFIG_MARKS = frozenset({"config", "dataclass"})

_ARGUMENTS = "vllm.engine."
_CONFIGS = (
    ("vllm.config.cache", "CacheConfig"),
    ("vllm.config.parallel", "ParallelConfig"),
    ("vllm.config.scheduler", "SchedulerConfig"),
    ("vllm.config.lora", "LoRAConfig"),
)
"""Classes that get engine arguments of the same name where no default tells so."""


@cache
def declared_fields(module: str, *classes: str) -> Mapping[str, Kind]:
    """Kinds of the public fields of configuration classes of a module.

    Args:
        module: vLLM's module, such as ``vllm.engine.arg_utils``.
        *classes: Their names; later ones add to earlier ones.

    Returns:
        The kind of each field by its name, worked out when it is asked for; nothing
        when vLLM is not installed.
    """
    source = _module(module)
    if source is None:
        return {}
    present = [
        name for name in classes if isinstance(source.names.get(name), ast.ClassDef)
    ]
    return _joined([source.fields_of(name) for name in present])


def constructor_arguments(module: str, class_name: str) -> set[str]:
    """Names of what a class' own constructor takes; nothing without vLLM."""
    source = _module(module)
    node = source.names.get(class_name) if source else None
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {
        argument.arg
        for method in body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        for argument in [*method.args.args, *method.args.kwonlyargs]
    }


@cache
def _module(name: str) -> _Module | None:
    folder = package_folder()
    if folder is None or not name.startswith("vllm."):
        return None
    place = folder.joinpath(*name.split(".")[1:])
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return _Module(name, file)
    return None


class _Lazy(Mapping[str, Kind]):
    """A mapping whose values are made when they are first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Kind]]) -> None:
        self._makers = makers
        self._made: dict[str, Kind] = {}

    def __getitem__(self, key: str) -> Kind:
        if key not in self._made:
            self._made[key] = self._makers[key]()
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _joined(parts: list[Mapping[str, Kind]]) -> Mapping[str, Kind]:
    """Mappings as one, of which a later one wins."""
    first_wins = [cast("MutableMapping[str, Kind]", part) for part in reversed(parts)]
    return MappingProxyType(ChainMap(*first_wins))


class _Module:
    """One source file and the names it defines or imports."""

    def __init__(self, name: str, file: Path) -> None:
        self._name = name
        self._tree = ast.parse(file.read_text(encoding="utf-8"))

    @cached_property
    def names(self) -> dict[str, ast.expr | ast.ClassDef | tuple[str, str]]:
        """What each name stands for: an expression, a class, or (module, name)."""
        found: dict[str, ast.expr | ast.ClassDef | tuple[str, str]] = {}
        for node in text.statements(self._tree.body):
            if isinstance(node, ast.ClassDef):
                found[node.name] = node
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                for target in text.targets(node):
                    found[target] = node.value
        return found

    def fields_of(self, class_name: str) -> Mapping[str, Kind]:
        """Kinds of a class' public fields, those of its bases included."""
        node = self.names[class_name]
        if not isinstance(node, ast.ClassDef):
            return {}
        bases = [
            base for base in map(self.kind, node.bases) if isinstance(base, Record)
        ]
        loose = text.converted_first(node)
        own = {
            text.name_of(field): partial(self._field_kind, field, loose)
            for field in text.fields_of(node)
        }
        return _joined([*(base.fields for base in bases), _Lazy(own)])

    def _field_kind(self, field: ast.AnnAssign, loose: set[str]) -> Kind:
        if text.name_of(field) in loose or "*" in loose:
            return ANYTHING
        kind = self.kind(field.annotation)
        limits = self._limits(field)
        if limits is not None:
            kind = within(kind, limits)
        return one_of(kind, NULL) if self._starts_null(field.value) else kind

    def kind(self, node: ast.expr) -> Kind:  # noqa: PLR0911  # one for each kind
        """Kind of an annotation."""
        match node:
            case ast.Constant(value=None):
                return NULL
            case ast.Constant(value=str() as quoted):
                return self.kind(ast.parse(quoted, mode="eval").body)
            case ast.Name(id=name):
                return self._named(name)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return one_of(self.kind(left), self.kind(right))
            case ast.Subscript(value=ast.Name(id=name), slice=inner):
                return self._subscripted(name, inner)
            case ast.Attribute():
                return Opaque(ast.unparse(node))
            case _:
                return ANYTHING

    def _subscripted(self, name: str, inner: ast.expr) -> Kind:
        arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name == "Literal":
            return Choice(tuple(self._literals(arguments)))
        if name in _WRAPPERS:
            return self.kind(arguments[0])
        if name in {"Union", "Optional"}:
            optional = (NULL,) if name == "Optional" else ()
            return one_of(*map(self.kind, arguments), *optional)
        if name in _LISTS:
            return ListOf(self.kind(arguments[0]))
        if name in _MAPPINGS:
            return MappingOf(self.kind(arguments[-1]))
        return _BUILTINS.get(name, ANYTHING)

    def _literals(self, arguments: list[ast.expr]) -> Iterator[Any]:
        for argument in arguments:
            nested = None if isinstance(argument, ast.Constant) else self.kind(argument)
            if isinstance(nested, Choice):
                yield from nested.values
            else:
                yield from text.constants([argument])

    def _named(self, name: str) -> Kind:
        meant = self.names.get(name)
        if isinstance(meant, tuple):
            module, original = meant
            origin = _module(module)
            if origin is not None:
                return origin._named(original)  # noqa: SLF001  # one of its own kind
            return _BUILTINS.get(original, Opaque(original))
        if isinstance(meant, ast.ClassDef):
            return self._class(meant)
        if meant is not None:
            return self.kind(meant)
        return _BUILTINS.get(name, ANYTHING)

    def _class(self, node: ast.ClassDef) -> Kind:
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        if any(base.endswith("Enum") for base in bases):
            return text.members(node)
        marks = {ast.unparse(mark).partition("(")[0] for mark in node.decorator_list}
        if marks & _CONFIG_MARKS:
            return Record(node.name, lambda: self.fields_of(node.name))
        if "TypedDict" in bases or "dict" in bases:
            return MappingOf(ANYTHING)
        inherited = [self.kind(base) for base in node.bases]
        if any(isinstance(base, Record) for base in inherited):
            return Record(node.name, lambda: self.fields_of(node.name))
        return Opaque(node.name)

    def _limits(self, field: ast.AnnAssign) -> Range | None:
        """Range of a field's numbers, wherever its default is written."""
        default = self._default(field.value)
        if isinstance(default, ast.Constant) and self._name.startswith(_ARGUMENTS):
            alike = (_default_of(*place, text.name_of(field)) for place in _CONFIGS)
            return next(filter(None, map(text.declared_range, alike)), None)
        return text.declared_range(default)

    def _starts_null(self, value: ast.expr | None) -> bool:
        """Whether a field's default is ``None``, wherever that is written."""
        match self._default(value):
            case ast.Constant(value=None):
                return True
            case ast.Call(keywords=keywords):
                defaults = [each.value for each in keywords if each.arg == "default"]
                return any(map(self._starts_null, defaults))
            case _:
                return False

    def _default(self, value: ast.expr | None) -> ast.expr | None:
        """A default, followed to the class whose default it is."""
        match value:
            case ast.Call(
                func=ast.Name(id="get_field"), args=[cls, ast.Constant(name)]
            ):
                return self.default_of(cls, str(name))
            case ast.Attribute(value=cls, attr=name):
                return self.default_of(cls, name)
            case _:
                return value

    def default_of(self, cls: ast.expr, field: str) -> ast.expr | None:
        """Default of a field of a class, which another module may define."""
        meant = self.names.get(ast.unparse(cls))
        if isinstance(meant, tuple):
            return _default_of(*meant, field)
        if not isinstance(meant, ast.ClassDef):
            return None
        values = (
            each.value for each in text.fields_of(meant) if text.name_of(each) == field
        )
        return self._default(next(values, None))


def _default_of(module: str, class_name: str, field: str) -> ast.expr | None:
    origin = _module(module)
    return origin.default_of(ast.Name(class_name), field) if origin else None
