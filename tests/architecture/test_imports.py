"""Importing is light, and what a package exports is what it says."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy

HEAVY = {"vllm", "torch", "transformers", "tokenizers", "ray"}


@pytest.mark.parametrize(
    "module", ["containers", "app", "app.cli", "containers.testing"]
)
def test_importing_a_package_loads_nothing_heavy(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", f"from {module} import *"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert module in imported
    assert {name.partition(".")[0] for name in imported} & HEAVY == set()


@pytest.mark.parametrize(
    "module", ["containers", "app", "containers.lifecycle", "containers.settings"]
)
def test_exports_are_complete_and_sorted(module: str) -> None:
    package = __import__(module, fromlist=["__all__"])
    names = package.__all__
    assert len(names) == len(set(names))
    for name in names:
        assert hasattr(package, name)


def test_settings_alone_need_no_containers() -> None:
    code = "import sys; from containers import Settings; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert "pydantic" in imported
    assert imported & {"dependency_injector", "fastapi"} == set()


def test_the_command_starts_the_fork_server_before_it_imports_the_app() -> None:
    code = "import sys; import app.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert "containers.vllm_api.forkserver.client" in done.stdout.split()
    assert imported & {"dependency_injector", "fastapi", "uvicorn", "asyncio"} == set()


@pytest.mark.parametrize("name", ["app", "containers"])
def test_a_name_that_is_not_exported_is_an_error_as_everywhere(name: str) -> None:
    package = __import__(name)
    assert {*package.__all__} <= {*dir(package)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize(
    ("package", "name", "module"),
    [("app", "create_app", "app.main"), ("containers", "Lifecycle", "lifecycle")],
)
def test_what_is_wrong_with_a_module_is_told_to_who_wants_a_name_of_it(
    package: str, name: str, module: str
) -> None:
    broken = "module 'numpy' has no attribute 'bool8'"

    def importing(asked: str) -> None:
        assert asked.endswith(module)
        raise AttributeError(broken)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("containers.exports.import_module", importing)
        patch.delitem(vars(sys.modules[package]), name, raising=False)
        with pytest.raises(ImportError, match=broken):
            exec(f"from {package} import {name}")  # noqa: S102  # as users write it
