"""Which tests a run's ``-m`` takes, known before they are imported.

To import every test takes longer than the fast tests themselves, and each process of a
run does it. So a file that has no test for a run is not imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

TIERS = frozenset({"heavy", "engine", "soak"})
FOLDERS = {
    **dict.fromkeys(("contract", "docs", "http", "serving", "testing"), ("heavy",)),
    "engine": ("engine",),
    **dict.fromkeys(("page", "ray"), ("engine", "soak")),
}
"""Markers of all tests of a folder; vLLM's import alone makes one heavy: 6 to 13 s."""

_OF_MODULE = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)
_MARKER = re.compile(r"\bmark\.(\w+)")


def leaves_out(expression: str, path: Path) -> bool:
    """Whether an ``-m`` takes no test of a file or a folder, whatever is in it.

    Args:
        expression: What such a run takes: markers and ``not`` markers, joined by
            ``and``. Any other expression leaves out nothing beforehand.
        path: The file or folder.
    """
    conditions = expression.split(" and ")
    if not all(re.fullmatch(r"(not )?\w+", each) for each in conditions):
        return False
    if any(f"not {each}" in conditions for each in marks_of_all(path)):
        return True
    return bool(TIERS.intersection(conditions) - marks_of_any(path))


@cache
def marks_of_all(path: Path) -> frozenset[str]:
    """Markers of a tier that every test in a file or folder has."""
    if path.is_dir():
        return frozenset(FOLDERS.get(path.name, ()))
    found = _OF_MODULE.search(path.read_text())
    return _of_folder_and(path, found[1] if found else "")


@cache
def marks_of_any(path: Path) -> frozenset[str]:
    """Markers of a tier that a test in a file or folder may have."""
    return TIERS if path.is_dir() else _of_folder_and(path, path.read_text())


def _of_folder_and(path: Path, text: str) -> frozenset[str]:
    return TIERS.intersection(_MARKER.findall(text)).union(
        FOLDERS.get(path.parent.name, ())
    )


def wrongly_read(path: Path, marks: Iterable[str]) -> set[str]:
    """Markers of one of a file's tests that are not what was read of the file."""
    has = TIERS.intersection(marks)
    return marks_of_all(path) - has | has - marks_of_any(path)
