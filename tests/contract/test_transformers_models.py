"""transformers knows the same models, whether their files are read once or twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
        "import vllm, transformers\n"
        "from transformers.utils import import_utils as tables\n"
        "from containers.vllm_api.transformers_models import READ, read_models_once\n"
        "setattr(tables, READ, plain := getattr(tables, READ).__wrapped__)\n"
        "read_models_once()\n"
        "assert getattr(tables, READ) is plain\n"
        "import transformers.models\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
