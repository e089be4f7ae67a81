"""``make setup``: what is done once, again, and after a failure."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.setup_clone import Clone, ended, wait_for

pytestmark = pytest.mark.heavy


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


def all_steps(clone: Clone) -> list[str]:
    return ["torch.txt", "cpu.lock", clone.folder.name]


def test_a_second_run_does_nothing(clone: Clone) -> None:
    assert clone.make()[0] == 0
    assert clone.installed() == all_steps(clone)
    status, output = clone.make()
    assert (status, output) == (0, "set-up: .venv is up to date\n")
    assert clone.installed() == []


def test_each_step_is_one_line_with_its_seconds(clone: Clone) -> None:
    lines = clone.make()[1].splitlines()
    assert [line.split()[1] for line in lines] == [
        "PyTorch",
        "vLLM",
        "vllm-di",
        "version",
    ]
    assert all(line.startswith("set-up: ") and line.endswith(" s") for line in lines)


def test_tools_for_checks_are_installed_only_for_checks(clone: Clone) -> None:
    clone.program("mypy", "#!/bin/sh\n")
    clone.make()
    assert "dev.lock" not in clone.installed()
    assert clone.make("types")[0] == 0
    assert clone.installed() == ["dev.lock"]


def test_an_edited_lock_repeats_its_own_step_only(clone: Clone) -> None:
    clone.make()
    clone.installed()
    with (clone.folder / "requirements" / "cpu.lock").open("a") as lock:
        lock.write("# edited\n")
    clone.make()
    assert clone.installed() == ["cpu.lock"]


def test_a_failed_step_shows_pips_words_and_is_where_the_next_run_goes_on(
    clone: Clone,
) -> None:
    status, output = clone.make(PIP_FAILS="cpu.lock")
    assert status != 0
    assert "pip says no" in output
    assert "159 packages failed. The lines above are pip's own" in output
    assert clone.installed() == ["torch.txt", "cpu.lock"]
    assert clone.make()[0] == 0
    assert clone.installed() == ["cpu.lock", clone.folder.name]


def test_what_a_killed_pip_left_half_installed_is_removed(clone: Clone) -> None:
    packages = clone.venv / "lib" / "python3.11" / "site-packages"
    half, whole = packages / "half-1.dist-info", packages / "whole-1.dist-info"
    for folder in (half, whole, packages / "~umpy"):
        folder.mkdir(parents=True)
    (whole / "INSTALLER").write_text("pip\n")
    clone.make()
    assert list(packages.iterdir()) == [whole]


def test_wrong_versions_fail_until_they_are_right(clone: Clone) -> None:
    for _ in range(2):
        status, output = clone.make(VERSIONS="wrong")
        assert status != 0
        assert f"version check failed. Remove {clone.venv}" in output
    assert clone.installed() == all_steps(clone)
    assert clone.make()[0] == 0


def test_two_set_ups_at_once_take_turns(clone: Clone) -> None:
    work = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)"
    first = clone.start("setup", PIP_TAKES_S="1", PIP_WORK=work)
    wait_for(clone.log)
    second = clone.start("setup")
    assert second.stdout is not None
    assert "another set-up of this folder is at work" in second.stdout.readline()
    assert clone.log.read_text().count("begin") == 1
    (clone.folder / "go").touch()
    assert ended(first)[0] == 0
    assert ended(second) == (0, "set-up: .venv is up to date\n")
    assert clone.installed() == all_steps(clone)


def test_a_folder_of_somebody_else_is_refused(clone: Clone) -> None:
    shutil.rmtree(clone.venv)
    clone.venv.mkdir()
    (clone.venv / "thesis.txt").touch()
    status, output = clone.make()
    assert status != 0
    assert f"{clone.venv} exists, and is not an environment" in output
    assert (clone.venv / "thesis.txt").exists()


def test_help_is_the_default_and_tells_every_target(clone: Clone) -> None:
    output = subprocess.run(
        ["make"], cwd=clone.folder, capture_output=True, text=True, check=True
    ).stdout
    for target in ("serve", "setup", "test", "lint", "types", "lock"):
        assert f"\n  {target} " in output
