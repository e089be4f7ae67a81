"""Reading a YAML file strictly: whatever is doubtful in it is an error with a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode
from yaml.reader import ReaderError

from containers.errors import SettingsError
from containers.settings.document import Document

_MISREAD = re.compile(r"[-+]?(0[0-9_]|[0-9][0-9_]*:)")
"""``017`` is 15 to YAML 1.1, and ``1:30`` is 90."""

_MAX_BYTES = 2**20
_MAX_VALUES = 100_000
_MAX_DEPTH = 100


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, whose every complaint has a place in the file."""

    def construct_object(self, node: Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  # PyYAML's signature
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            kind = node.tag.rpartition(":")[2]
            problem = f"this is no valid {kind}"
            raise ConstructorError(None, None, problem, node.start_mark) from error

    def construct_number(self, node: ScalarNode) -> Any:
        """A number, unless YAML makes another of it than a reader does."""
        is_whole = node.tag.endswith(":int")
        made = self.construct_yaml_int if is_whole else self.construct_yaml_float
        number = made(node)
        if _MISREAD.match(node.value):
            raise ConstructorError(
                None,
                None,
                f"{node.value} is the number {number} to YAML: write that one, "
                "or text in quotes",
                node.start_mark,
            )
        return number


for _tag in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_number)


def read(path: Path) -> Document:
    """Reads and parses the file at ``path``.

    Raises:
        SettingsError: The file cannot be read, is not YAML, repeats a key, or is not
            a mapping.
    """
    file = str(path)
    node, data = _parse(text_of(path), file)
    if node is None:
        hint = "It takes at least the key models."
        raise SettingsError(file=file, reason="is empty", hint=hint)
    if not isinstance(data, dict):
        reason = "is not a mapping of keys to values"
        hint = "At the top it takes the keys server and models."
        line = node.start_mark.line + 1
        raise SettingsError(file=file, line=line, reason=reason, hint=hint)
    return Document(file=file, data=data, node=node)


def parse_value(text: str, *, source: str) -> Any:
    """Value that a YAML text means; ``None`` for an empty one.

    Args:
        text: The text.
        source: What to call it in an error.

    Raises:
        SettingsError: It is no YAML.
    """
    return _parse(text, source)[1]


def _parse(text: str, file: str) -> tuple[Node | None, Any]:
    try:
        return _parsed(text)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(file, error) from None
    except ReaderError as error:
        reason = f"holds a character that YAML does not allow (#x{error.character:04x})"
        raise SettingsError(file=file, reason=reason) from None
    except RecursionError:
        raise SettingsError(file=file, reason="is nested too deeply") from None


def text_of(path: Path) -> str:
    """Text of a small UTF-8 file.

    Raises:
        SettingsError: There is none, or it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        hint = "Check the path."
        raise SettingsError(file=str(path), reason="no such file", hint=hint) from None
    except IsADirectoryError:
        hint = "Name the file in it."
        raise SettingsError(file=str(path), reason="is a folder", hint=hint) from None
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise SettingsError(file=str(path), reason=reason) from None
    if len(raw) > _MAX_BYTES:
        raise SettingsError(file=str(path), reason="is larger than 1 MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(
            file=str(path),
            line=raw[: error.start].count(b"\n") + 1,
            reason=f"is not UTF-8 (byte 0x{raw[error.start]:02x})",
            hint="Save it as UTF-8.",
        ) from None


def _parsed(text: str) -> tuple[Node | None, Any]:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, None
        _weigh(node, {})
        return node, loader.construct_document(node)
    finally:
        loader.dispose()


def _weigh(node: Node, weights: dict[int, int], depth: int = 0) -> int:
    """Counts the values below a node with aliases written out, refusing absurdities."""
    if id(node) in weights:
        if not weights[id(node)]:
            _refuse(node, "an alias may not stand inside its own anchor")
        return weights[id(node)]
    if depth > _MAX_DEPTH:
        _refuse(node, f"more than {_MAX_DEPTH} sections inside one another")
    weights[id(node)] = 0
    if isinstance(node, MappingNode):
        _check_repeated(node)
    weight = 1 + sum(_weigh(child, weights, depth + 1) for child in _children(node))
    if weight > _MAX_VALUES:
        _refuse(node, f"more than {_MAX_VALUES} values, aliases written out")
    weights[id(node)] = weight
    return weight


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, MappingNode):
        for pair in node.value:
            yield from pair
    elif not isinstance(node, ScalarNode):
        yield from node.value


def _check_repeated(node: MappingNode) -> None:
    first: dict[str, Node] = {}
    for key, _ in node.value:
        if not isinstance(key, ScalarNode):
            continue
        if key.value in first:
            line = first[key.value].start_mark.line + 1
            _refuse(key, f"the key {key.value} is given twice, first in line {line}")
        first[key.value] = key


def _refuse(node: Node, problem: str) -> NoReturn:
    raise ConstructorError(None, None, problem, node.start_mark)


def _syntax_error(file: str, error: yaml.MarkedYAMLError) -> SettingsError:
    mark = error.problem_mark or error.context_mark
    words = ", ".join(part for part in (error.context, error.problem) if part)
    return SettingsError(
        file=file,
        line=mark.line + 1 if mark else None,
        reason=f"not valid YAML: {words}",
        hint="Indent with blanks, not tabs." if "'\\t'" in words else "",
    )
