"""transformers knows the same models, whether their files are read once or twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from containers.vllm_api import transformers_models

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json, sys
from containers.vllm_api.transformers_models import read_models_once
if sys.argv[1] == "once":
    read_models_once()
from transformers.utils import import_utils
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else 0)
from transformers import models
n_read = sum("/models/llama/" in str(path) for path in opened)
homes = models._class_to_module
table = {name: homes[name] for name in sorted(homes)}
from transformers.models.llama import LlamaConfig
print(json.dumps([n_read, table, LlamaConfig.model_type]))
"""


def told(how_often: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, how_often],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    answer: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_the_table_is_the_same_and_no_file_is_read_a_second_time() -> None:
    n_read, table, model = told("once")
    n_read_before, table_before, _ = told("twice")
    assert n_read_before > 0
    assert n_read == 0
    assert len(table) > 1000
    assert table == table_before
    assert model == "llama"


def test_a_transformers_that_does_otherwise_is_left_as_it_is() -> None:
    program = (
        "import sys, types\n"
        "sys.modules['vllm'] = types.ModuleType('vllm')  # seconds of import less\n"
        "import transformers\n"
        "from transformers.utils import import_utils as tables\n"
        "from containers.vllm_api.transformers_models import READ, read_models_once\n"
        "setattr(tables, READ, plain := getattr(tables, READ).__wrapped__)\n"
        "read_models_once()\n"
        "assert getattr(tables, READ) is plain\n"
        "import transformers.models\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def another_transformers(read: Callable[..., Any], monkeypatch: Any) -> Any:
    """Its module of tables, after it was asked to read once."""
    tables = SimpleNamespace(**{transformers_models.READ: lru_cache(read)})
    found = {
        "vllm": None,
        "transformers": SimpleNamespace(__file__="/transformers/__init__.py"),
        transformers_models.TABLES: tables,
    }
    monkeypatch.setattr(transformers_models, "import_module", found.__getitem__)
    monkeypatch.setattr(transformers_models, "MODELS", "not.imported")
    transformers_models.read_models_once()
    return tables.create_import_structure_from_path


def test_a_transformers_that_can_be_asked_for_more_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def reads(path: str, kind: str = "", *, deep: bool = False) -> Any:
        return str(path), kind, deep

    read = another_transformers(reads, monkeypatch)
    folder = "/transformers/models"
    assert read(f"{folder}/__init__.py") == read(folder) == (folder, "", False)
    assert read("/other") == ("/other", "", False)
    assert read(folder, "a", deep=True) == (folder, "a", True)
    assert read(path=folder) == (folder, "", False)


def test_a_transformers_that_cannot_read_is_no_obstacle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def needs_more(path: str, kind: str) -> None:
        """Somebody else's, of a later release."""

    def understands_nothing(path: str) -> None:
        raise ValueError(path)

    for reads in (needs_more, understands_nothing):
        assert another_transformers(reads, monkeypatch).__wrapped__ is reads
