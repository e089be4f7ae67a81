"""Each decision is numbered and names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.documents import ROOT

DECISIONS = [
    text.partition("\n")
    for text in (ROOT / "docs" / "decisions.md").read_text().split("\n## ")[1:]
]
TITLES = [title for title, _, _ in DECISIONS]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def functions_in(file: str) -> frozenset[str]:
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / file).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = (node.name for node in tree.body if isinstance(node, functions))
    return frozenset(name for name in names if name.startswith("test_"))


def test_they_are_numbered_in_order() -> None:
    numbers = [title.partition(". ")[0] for title in TITLES]
    assert numbers == [str(number) for number in range(1, len(TITLES) + 1)]


@pytest.mark.parametrize("title", TITLES)
def test_a_decision_is_proved_by_tests_that_exist(title: str) -> None:
    (text,) = (text for each, _, text in DECISIONS if each == title)
    reason, _, proof = text.partition("\nProof: ")
    assert len(reason.split()) > 15
    named = NAMED.findall(proof)
    assert named
    assert len(named) == proof.count("`") // 2
    assert [name for file, name in named if name not in functions_in(file)] == []
