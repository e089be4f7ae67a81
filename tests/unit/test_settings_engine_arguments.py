"""Engine arguments are known without importing vLLM, and without vLLM at all."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.settings import ModelSettings
from containers.settings.kinds import kind_of_section
from containers.vllm_api import declarations
from containers.vllm_api.engine_arguments import (
    engine_argument_names,
    engine_arguments,
)

SOURCE = '''
class EngineArgs:
    """A text with a colon: in it."""

    model: str = "m"
    seed: int = 0
    _count: int = 1
    table: ClassVar[dict] = {}
    plain = 3

    def method(self):
        local: int = 1


class AsyncEngineArgs(EngineArgs):
    enable_log_requests: bool = False


class Other:
    stranger: int = 0
'''


def forget() -> None:
    for cached in (
        engine_arguments,
        kind_of_section,
        declarations.declared_fields,
        declarations._module,
    ):
        cached.cache_clear()


@pytest.fixture(autouse=True)
def fresh_names() -> Iterator[None]:
    forget()
    yield
    forget()


def test_the_public_fields_of_both_classes_are_the_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vllm" / "engine"
    folder.mkdir(parents=True)
    (tmp_path / "vllm" / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "arg_utils.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    assert engine_argument_names() == {"model", "seed", "enable_log_requests"}


def test_without_vllm_the_names_are_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("containers.vllm_api.declarations.package_folder", lambda: None)
    assert engine_argument_names() is None
    engine = {"whatever": 1}
    assert ModelSettings(name="m", source="s", engine=engine).engine == engine


@pytest.mark.heavy
def test_reading_the_names_imports_nothing() -> None:
    script = (
        "import sys\n"
        "from containers.settings import ModelSettings\n"
        "ModelSettings(name='m', source='s', engine={'seed': 1})\n"
        "heavy = {'vllm', 'torch', 'transformers'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2]
    )
