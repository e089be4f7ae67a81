"""An engine's sockets lie in a folder of its own, which goes with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from containers.vllm_api.engine_sockets import PLACE, EngineSockets


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv(PLACE, folder)
        yield Path(folder)


def config(**parallel: Any) -> Any:
    defaults = {
        "distributed_executor_backend": "mp",
        "data_parallel_backend": "mp",
        "nnodes": 1,
    }
    return SimpleNamespace(parallel_config=SimpleNamespace(**defaults | parallel))


def test_the_folder_is_private_and_lasts_until_it_is_removed(place: Path) -> None:
    with EngineSockets(config()) as sockets:
        folder = Path(os.environ[PLACE])
        (folder / "socket").touch()
    assert os.environ[PLACE] == str(place)
    assert folder.parent == place
    assert folder.stat().st_mode & 0o777 == 0o700
    sockets.remove()
    assert list(place.iterdir()) == []


def test_a_start_that_fails_leaves_none(place: Path) -> None:
    with pytest.raises(RuntimeError), EngineSockets(config()):
        raise RuntimeError
    assert list(place.iterdir()) == []
    assert os.environ[PLACE] == str(place)


@pytest.mark.parametrize(
    "parallel",
    [
        {"distributed_executor_backend": "ray"},
        {"data_parallel_backend": "ray"},
        {"nnodes": 2},
    ],
)
def test_an_engine_on_several_machines_has_none(
    parallel: dict[str, Any], place: Path
) -> None:
    with EngineSockets(config(**parallel)) as sockets:
        assert os.environ[PLACE] == str(place)
    sockets.remove()
    assert list(place.iterdir()) == []


def test_nor_has_one_whose_sockets_would_have_too_long_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 60)
    long.mkdir()
    monkeypatch.setenv(PLACE, str(long))
    with EngineSockets(config()):
        assert os.environ[PLACE] == str(long)


def test_without_a_place_it_is_below_the_folder_for_temporary_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(PLACE, raising=False)
    with EngineSockets(config()) as sockets:
        assert Path(os.environ[PLACE]).parent == Path(tempfile.gettempdir())
    assert PLACE not in os.environ
    sockets.remove()
