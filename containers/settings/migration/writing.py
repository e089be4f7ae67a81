"""Settings as the text of a config file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

_INDENT = "  "


def written(
    document: Mapping[str, Any], header: Iterable[str], remarks: Mapping[str, str]
) -> str:
    """The text of a config file.

    Args:
        document: Its keys and values.
        header: Comments for its first lines.
        remarks: Comments by key path, for values that stand on one line.
    """
    lines = [f"# {line}".rstrip() for text in header for line in text.splitlines()]
    for section, value in document.items():
        lines.append(f"{section}:")
        if section == "models":
            for model in value:
                inside = list(_lines(model, _INDENT * 2, section, remarks))
                lines += [f"{_INDENT}- {inside[0].lstrip()}", *inside[1:]]
        else:
            lines += _lines(value, _INDENT, section, remarks)
    return "\n".join(lines) + "\n"


def _lines(
    mapping: Mapping[str, Any], indent: str, path: str, remarks: Mapping[str, str]
) -> Iterator[str]:
    for key, value in mapping.items():
        place = f"{path}.{key}"
        if key in {"engine", "chat", "lora"} and path == "models":
            yield f"{indent}{key}:"
            yield from _lines(value, indent + _INDENT, place, remarks)
            continue
        text = yaml.safe_dump(
            {key: value}, sort_keys=False, allow_unicode=True, width=4096
        )
        lines = text.rstrip("\n").split("\n")
        remark = f"  # {remarks[place]}" if place in remarks and len(lines) == 1 else ""
        yield from (f"{indent}{line}{remark}" if line else line for line in lines)
