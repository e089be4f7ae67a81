"""A run opens no file whose tests it leaves out, and misses none that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiers import leaves_out, wrongly_read

FAST = "not heavy and not engine"
HEAVY = "heavy and not engine and not soak"
ENGINE = "engine and not soak"
MIXED = "def test_a(): ...\n@pytest.mark.engine\ndef test_b(): ...\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "unit"
    folder.mkdir()
    return folder / "test_some.py"


@pytest.mark.parametrize(
    ("text", "left_out_by"),
    [
        ("def test_a(): ...", [HEAVY, ENGINE, "soak"]),
        ("pytestmark = pytest.mark.heavy", [FAST, ENGINE, "soak"]),
        ("pytestmark = [\n  pytest.mark.engine,\n  A]", [FAST, HEAVY, "soak"]),
        ("x = 'pytestmark = pytest.mark.heavy'", [ENGINE, "soak"]),
        (MIXED, [HEAVY, "soak"]),
    ],
)
def test_a_file_is_read_for_what_its_tests_are(
    file: Path, text: str, left_out_by: list[str]
) -> None:
    file.write_text(text)
    runs = (FAST, HEAVY, ENGINE, "soak", "", "heavy or engine", "not (heavy)")
    assert [run for run in runs if leaves_out(run, file)] == left_out_by


def test_a_folder_says_what_its_tests_are_at_the_least(tmp_path: Path) -> None:
    http, page = tmp_path / "http", tmp_path / "page"
    for folder in (http, page):
        folder.mkdir()
        (folder / "test_some.py").write_text("")
    assert leaves_out(FAST, http)
    assert not leaves_out(ENGINE, http)  # any of its files may have some
    assert leaves_out(ENGINE, http / "test_some.py")
    assert leaves_out(ENGINE, page)
    assert not leaves_out("soak", page / "test_some.py")


def test_a_marker_from_elsewhere_is_an_error(file: Path) -> None:
    file.write_text(MIXED)
    assert wrongly_read(file, ["engine", "skipif"]) == set()
    assert wrongly_read(file, ["soak"]) == {"soak"}
    file.with_name("test_other.py").write_text("pytestmark = pytest.mark.heavy")
    assert wrongly_read(file.with_name("test_other.py"), []) == {"heavy"}
