"""Files that change while a server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app import file_changes
from containers.file_version import FileVersions, file_versions


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_changes, "LOOK_EVERY_S", 0.02)


def read(*files: Path) -> Callable[[], FileVersions]:
    """Files that have been read just now."""
    was_read = file_versions(files)
    return lambda: was_read


async def seen(changes: AsyncIterator[list[str]], within_s: float = 2.0) -> list[str]:
    async with asyncio.timeout(within_s):
        return await anext(changes)


async def test_a_change_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("1")
    changes = file_changes.changes(read(file))
    coming = asyncio.create_task(seen(changes))
    await asyncio.sleep(0.1)
    file.write_text("12")
    assert await coming == [str(file)]
    with pytest.raises(TimeoutError):
        await seen(changes, within_s=0.2)


async def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("1")
    coming = asyncio.create_task(seen(file_changes.changes(read(file))))
    await asyncio.sleep(0.1)
    for n in range(30):
        file.write_text("1" * n)
        await asyncio.sleep(0.01)
        assert not coming.done()
    assert await coming == [str(file)]


async def test_what_a_link_leads_to_is_meant(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    link = tmp_path / "config.yaml"
    link.symlink_to(tmp_path / "one")
    coming = asyncio.create_task(seen(file_changes.changes(read(link))))
    await asyncio.sleep(0.1)
    (tmp_path / "new").symlink_to(tmp_path / "two")
    (tmp_path / "new").rename(link)
    assert await coming == [str(link)]


async def test_a_file_that_joins_is_no_change_and_one_that_comes_is(
    tmp_path: Path,
) -> None:
    files = {tmp_path / "a": None}
    changes = file_changes.changes(lambda: files)
    with pytest.raises(TimeoutError):
        await seen(changes, within_s=0.1)
    changes = file_changes.changes(lambda: files)
    coming = asyncio.create_task(seen(changes))
    await asyncio.sleep(0.1)
    files[tmp_path / "b"] = None
    await asyncio.sleep(0.1)
    (tmp_path / "b").write_text("b")
    assert await coming == [str(tmp_path / "b")]


async def test_a_change_between_the_reading_and_the_first_look_is_told(
    tmp_path: Path,
) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text("1")
    files = read(file)
    file.write_text("12")
    assert await seen(file_changes.changes(files)) == [str(file)]
