"""Files are small and named for what they hold."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
FORBIDDEN = {"utils", "helpers", "common", "core", "base", "manager"}
LONGEST = 320


def sources() -> list[Path]:
    return [
        path for top in ("app", "containers") for path in (ROOT / top).rglob("*.py")
    ]


def test_no_file_is_named_for_nothing() -> None:
    assert [p for p in sources() if {p.stem, *p.parts} & FORBIDDEN] == []


def test_no_file_is_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in sources()}
    assert {str(p): n for p, n in lengths.items() if n > LONGEST} == {}


def test_the_container_is_nothing_but_the_diagram() -> None:
    """The class body holds assignments alone: no logic."""
    import ast

    (container,) = [
        node
        for node in ast.parse((ROOT / "containers" / "model.py").read_text()).body
        if isinstance(node, ast.ClassDef)
    ]
    docstring, *statements = container.body
    assert isinstance(docstring, ast.Expr)
    assert {type(statement) for statement in statements} == {ast.Assign}
