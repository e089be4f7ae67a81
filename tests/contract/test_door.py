"""The one door to vLLM: every name behind it is there, or its absence is told well."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from containers import vllm_api
from containers.errors import VllmMismatchError
from containers.vllm_api import release
from containers.vllm_api.names import (
    ADDED,
    MOVED,
    NAMES,
    SUPPORTED_RELEASES,
    place_of,
)

OPTIONAL = {"Cohere": "cohere"}
"""Beginnings of names whose module imports a package that is an extra of vLLM's."""


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_name_is_where_the_table_says(name: str) -> None:
    if not vllm_api.offers(name):
        with pytest.raises(VllmMismatchError, match=f"{name} came with vLLM 0"):
            getattr(vllm_api, name)
        return
    for beginning, package in OPTIONAL.items():
        if name.startswith(beginning) and find_spec(package) is None:
            module, _ = place_of(name, vllm_api.release_line())
            assert f"class {name}" in source_of(module)
            return
    assert getattr(vllm_api, name) is not None


def source_of(module: str) -> str:
    folder = release.package_folder()
    assert folder is not None
    return folder.parent.joinpath(*module.split(".")).with_suffix(".py").read_text()


@pytest.mark.parametrize("table", [MOVED, ADDED], ids=["moved", "added"])
def test_only_known_names_and_releases_are_in_a_table(table: dict[str, Any]) -> None:
    assert set(table) <= set(SUPPORTED_RELEASES[1:])
    for names in table.values():
        assert set(names) <= set(NAMES)


def test_what_moved_was_nowhere_else_before() -> None:
    oldest, *_, before, newest = SUPPORTED_RELEASES
    for name, place in MOVED.get(newest, {}).items():
        assert ":".join(place_of(name, before)) in {place, f"{place}:{name}"}
        assert place_of(name, newest)[0] == NAMES[name].partition(":")[0]
    assert place_of("ChatTemplateConfig", oldest)[0] == "vllm.entrypoints.chat_utils"
    assert place_of("AsyncLLM", oldest) == ("vllm.v1.engine.async_llm", "AsyncLLM")


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'LLMEngine'"):
        _ = vllm_api.LLMEngine


CONSTRUCTORS = {
    "OpenAIServingChat": ("engine_client", "models", "response_role"),
    "OpenAIServingCompletion": ("engine_client", "models"),
    "ServingTokenization": ("models", "online_renderer"),
    "OpenAIServingModels": ("engine_client", "base_model_paths"),
    "OnlineRenderer": ("model_config", "renderer"),
    "InputProcessor": ("vllm_config", "renderer"),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_begin_with_the_arguments_we_pass_by_place(name: str) -> None:
    signature = inspect.signature(getattr(vllm_api, name).__init__)
    _, *places = list(signature.parameters)[: len(CONSTRUCTORS[name]) + 1]
    assert tuple(places) == CONSTRUCTORS[name]


def test_the_engines_constructor_takes_its_renderer_by_the_name_we_replace() -> None:
    code = vllm_api.AsyncLLM.__init__.__code__
    assert "renderer_from_config" in code.co_names
    assert "renderer_from_config" in vllm_api.AsyncLLM.__init__.__globals__
    for name in ("_run_output_handler", "shutdown", "check_health"):
        assert callable(getattr(vllm_api.AsyncLLM, name))


def installed(folder: Path, version: str | None) -> Path:
    """A folder for ``sys.path`` that holds a vLLM of some version."""
    package = folder / "vllm"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('it was imported')\n")
    if version is not None:
        told = repr(version) if version else "("
        (package / "_version.py").write_text(f"__version__ = version = {told}\n")
    return folder


def release_line_with(path: list[str]) -> subprocess.CompletedProcess[str]:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "others = [p for p in sys.path if not (Path(p) / 'vllm').exists()]\n"
        "others = [p for p in others if 'site-packages' not in p]\n"
        f"sys.path = {path!r} + others\n"
        "from containers.vllm_api.release import release_line\n"
        "print(release_line())\n"
    )
    # The package itself is not imported: only what the release is read with.
    stub = (
        "import sys, types; sys.modules['containers'] = types.ModuleType('containers')"
    )
    root = str(Path(vllm_api.__file__).parents[1])
    script = f"{stub}; sys.modules['containers'].__path__ = [{root!r}]\n{script}"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("0.99.0", "newer than the newest supported release (found vLLM: 0.99.0"),
        ("0.1.2.post1", "older than the oldest supported release (found vLLM: 0.1.2"),
        ("dev", "this release of vLLM is not supported (found vLLM: dev"),
        (None, "found vLLM: unknown"),
        ("", "found vLLM: unknown"),  # cut off
    ],
)
def test_another_release_is_told_before_it_is_imported(
    tmp_path: Path, version: str | None, says: str
) -> None:
    done = release_line_with([str(installed(tmp_path, version))])
    assert done.returncode == 1
    assert says in done.stderr
    assert f"supported: {', '.join(SUPPORTED_RELEASES)}" in done.stderr
    assert "pip install" in done.stderr
    assert "it was imported" not in done.stderr


def test_a_supported_release_is_known_without_importing_it(tmp_path: Path) -> None:
    done = release_line_with([str(installed(tmp_path, "0.32.1"))])
    assert done.stdout == "0.32\n", done.stderr


def test_no_vllm_at_all_is_told(tmp_path: Path) -> None:
    done = release_line_with([str(tmp_path)])
    assert "vLLM is not installed (found vLLM: none" in done.stderr


def test_a_name_that_is_gone_names_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES, "Gone", "vllm.outputs")
    with pytest.raises(VllmMismatchError, match=r"Gone cannot be imported from vllm\."):
        _ = vllm_api.Gone


@pytest.mark.parametrize("kind", [ImportError, OSError, NameError, ValueError])
def test_a_broken_install_is_told(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def broken(name: str) -> ModuleType:
        raise kind(f"libtorch is missing, says {name}")

    monkeypatch.setattr("containers.vllm_api.import_module", broken)
    monkeypatch.setitem(NAMES, "Other", "vllm.outputs")
    with pytest.raises(VllmMismatchError, match="libtorch is missing") as caught:
        _ = vllm_api.Other
    assert caught.value.found == release.installed_version()


def test_nothing_else_imports_vllm() -> None:
    root = Path(vllm_api.__file__).parents[2]
    for folder in ("app", "containers"):
        for path in (root / folder).rglob("*.py"):
            if path.is_relative_to(Path(vllm_api.__file__).parent):
                continue
            lines: list[Any] = path.read_text().splitlines()
            taken = [line for line in lines if line.strip().startswith("from vllm")]
            assert taken == [], path
