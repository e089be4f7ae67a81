"""Every call that this project makes of vLLM binds to the signature it really has."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from containers import vllm_api
from containers.vllm_api.arguments import CHANGED, Change, adapted
from containers.vllm_api.declarations import constructor_arguments
from containers.vllm_api.names import NAMES, SUPPORTED_RELEASES, later_than, place_of

ROOT = Path(vllm_api.__file__).parents[2]


OPTIONAL = {"CohereServingChatV2": "cohere"}
"""Names whose module imports a package that is an extra of vLLM's."""


class Call(NamedTuple):
    """One call of a name of the door, as it is written."""

    name: str
    place: str
    n_places: int
    keywords: frozenset[str]
    is_open: bool

    def __str__(self) -> str:
        return f"{self.place} {self.name}"


def calls() -> Iterator[Call]:
    for file in sorted([*ROOT.glob("containers/**/*.py"), *ROOT.glob("app/**/*.py")]):
        tree = ast.parse(file.read_text())
        imported = dict(door_imports(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases = [imported.get(ast.unparse(base)) for base in node.bases]
                name = next(filter(None, bases), None)
                yield from of_super(node, name, file) if name else ()
            elif isinstance(node, ast.Call):
                name = door_name(node.func, imported)
                if name:
                    yield call(name, node, file)


def door_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "containers.vllm_api":
            for alias in node.names:
                if alias.name in NAMES:
                    yield alias.asname or alias.name, alias.name


def door_name(function: ast.expr, imported: dict[str, str]) -> str | None:
    if isinstance(function, ast.Attribute) and function.attr in NAMES:
        return function.attr if ast.unparse(function.value) == "vllm_api" else None
    return imported.get(ast.unparse(function))


def of_super(node: ast.ClassDef, name: str, file: Path) -> Iterator[Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "super().__init__":
            yield call(name, each, file)


def call(name: str, node: ast.Call, file: Path) -> Call:
    names = [keyword.arg for keyword in node.keywords]
    is_open = None in names or any(isinstance(a, ast.Starred) for a in node.args)
    place = f"{file.relative_to(ROOT)}:{node.lineno}"
    keywords = frozenset(filter(None, names))
    return Call(name, place, len(node.args), keywords, is_open)


CALLS = list(calls())


def test_the_calls_are_found() -> None:
    names = {each.name for each in CALLS}
    assert {"OpenAIServingChat", "OnlineRenderer", "OpenAIServingModels"} <= names


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_call_binds(call: Call) -> None:
    if not vllm_api.offers(call.name):
        pytest.skip("a later release brings it")
    if call.name in OPTIONAL and find_spec(OPTIONAL[call.name]) is None:
        taken = constructor_arguments(*place_of(call.name, vllm_api.release_line()))
        assert set(undone(call.name, dict.fromkeys(call.keywords))) <= taken
        return
    found = getattr(vllm_api, call.name)
    if isinstance(found, type) and found.__init__ is Exception.__init__:
        assert not call.keywords
        return
    signature = inspect.signature(found)
    keywords = undone(call.name, dict.fromkeys(call.keywords))
    bind = signature.bind_partial if call.is_open else signature.bind
    bind(*range(call.n_places), **keywords)


def undone(name: str, keywords: dict[str, Any]) -> dict[str, Any]:
    for release in reversed(later_than(vllm_api.release_line())):
        change = CHANGED.get(release, {}).get(name)
        keywords = change.undone(keywords) if change else keywords
    return keywords


def test_only_known_names_and_releases_have_changed() -> None:
    assert set(CHANGED) <= set(SUPPORTED_RELEASES[1:])
    for names in CHANGED.values():
        assert {name.partition(".")[0] for name in names} <= set(NAMES)


ALL = [(line, name) for line, names in CHANGED.items() for name in names]


@pytest.mark.parametrize(("line", "name"), ALL)
def test_a_change_is_the_one_that_its_release_made(line: str, name: str) -> None:
    change = CHANGED[line][name]
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    owner, _, method = name.partition(".")
    found = getattr(vllm_api, owner)
    takes = inspect.signature(getattr(found, method) if method else found).parameters
    is_before = line in later_than(vllm_api.release_line())
    for keyword in (*change.added, *change.renamed.values()):
        assert (keyword in takes) is not is_before, keyword
    for keyword in (*change.dropped, *change.renamed):
        assert (keyword in takes) is is_before, keyword
    for keyword, words in change.reworded.items():
        assert takes[keyword].default == words[is_before]


class Old:
    """What a release before the newest one offers."""

    def __init__(self, first: Any, *, old: Any = 0, level: str = "", gone: Any) -> None:
        self.got = (first, old, level, gone)


def old_function(first: Any, *, old: Any = 0, level: str = "", gone: Any) -> Any:
    return Old(first, old=old, level=level, gone=gone)


CHANGE = Change(
    added=("fresh",),
    renamed={"old": "new"},
    reworded={"level": (None, "auto")},
    dropped={"gone": "so"},
)


@pytest.mark.parametrize("found", [Old, old_function])
def test_an_older_release_takes_the_words_of_the_newest(
    monkeypatch: pytest.MonkeyPatch, found: Any
) -> None:
    oldest, *_, middle, newest = SUPPORTED_RELEASES
    monkeypatch.setitem(CHANGED, newest, {"Thing": CHANGE})
    monkeypatch.setitem(CHANGED, middle, {"Thing": Change(renamed={"first": "one"})})
    assert adapted("Thing", found, newest) is found
    made = adapted("Thing", found, oldest)(one=1, new=2, level=None, fresh=3)
    assert made.got == (1, 2, "auto", "so")
    assert isinstance(made, Old)
    assert inspect.signature(adapted("Thing", found, oldest)) == inspect.signature(
        found
    )


def test_a_method_takes_the_words_of_the_newest_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Older:
        def answer(self, one: int) -> int:
            return one

    change = Change(added=("raw_request",))
    monkeypatch.setitem(CHANGED, SUPPORTED_RELEASES[-1], {"Thing.answer": change})
    made = adapted("Thing", Older, SUPPORTED_RELEASES[0])
    assert made().answer(1, raw_request=2) == 1
    assert adapted("Thing", Older, SUPPORTED_RELEASES[-1]) is Older


def test_a_subclass_of_an_adapted_class_writes_the_newest_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(CHANGED, SUPPORTED_RELEASES[-1], {"Thing": CHANGE})
    adapted_old: Any = adapted("Thing", Old, SUPPORTED_RELEASES[0])

    class Ours(adapted_old):  # type: ignore[misc]  # made at run time
        def __init__(self) -> None:
            super().__init__(1, new=2, level="function", fresh=3)

    assert Ours().got == (1, 2, "function", "so")
