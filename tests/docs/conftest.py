"""The folder in which a reader tries things out, over the doubles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from dependency_injector import providers

from containers import ModelContainer
from containers.testing import FakeEngine

ANSWER = "The capital of France is Paris."


@pytest.fixture
def folder(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A folder, the current one, whose ``config.yaml`` serves the tiny model.

    Modules written to it can be imported; containers declared in it have a double
    where the engine would be.
    """
    settings = {
        "name": "smollm2",
        "source": str(tiny_folder),
        "engine": {"max_model_len": 512},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"models": [settings]}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    with ModelContainer.engine.override(providers.Singleton(FakeEngine, ANSWER)):
        yield tmp_path
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == tmp_path:
            del sys.modules[name]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What was printed since the last question."""
    return lambda: capsys.readouterr().out
