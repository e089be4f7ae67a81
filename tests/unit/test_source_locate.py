"""Where a model is, told without unpacking or fetching it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from containers.errors import SourceError
from containers.source import locate, model_folder
from containers.source.cache import filling
from containers.source.package import shipped_model
from containers.source.unpack import _entry
from containers.source.watch import Watch
from tests.unit.test_source import ship

FOLDER_FILES = {"m/config.json": b"{}", "m/model.safetensors": b"weights"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("VLLM_DI_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's client."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return tmp_path / "hub"


def cached(hub: Path, revision: str) -> Path:
    repository = hub / "models--org--model"
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").touch()
    (snapshot / "model.safetensors").touch()
    (repository / "refs").mkdir()
    (repository / "refs" / revision).write_text("0123abcd")
    return snapshot


def test_a_folder_is_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    assert locate(str(tmp_path)).path == str(tmp_path)


@pytest.mark.parametrize("source", ["./absent", "package:no-such-package-here"])
def test_what_is_nowhere_is_refused_as_at_the_start(source: str) -> None:
    with pytest.raises(SourceError) as at_start:
        model_folder(source)
    with pytest.raises(SourceError) as now:
        locate(source)
    assert str(now.value) == str(at_start.value)


def test_a_shipped_folder_is_used_as_it_is(site: Path) -> None:
    ship(site, "has-folder", FOLDER_FILES)
    located = locate("package:has-folder")
    assert located.path == str(site / "m")
    assert located.description.startswith("package has-folder 1.0, folder")


def test_a_shipped_file_is_not_unpacked(site: Path) -> None:
    ship(site, "has-gguf", {"m/model.gguf": b"GGUF"})
    located = locate("package:has-gguf")
    assert located.path is None
    assert "not unpacked yet" in located.description
    assert not (site.parent / "cache").exists()


def test_a_shipped_file_that_was_unpacked_is_found(site: Path) -> None:
    source = "package:has-gguf"
    ship(site, "has-gguf", {"m/model.gguf": b"GGUF"})
    entry = _entry(shipped_model(source), Watch(source))
    entry.parent.mkdir(parents=True)
    with filling(entry) as folder:
        (folder / "config.json").touch()
    assert locate(source).path == str(entry)


def test_a_hub_id_in_the_cache_is_found(hub: Path) -> None:
    snapshot = cached(hub, "main")
    located = locate("org/model")
    assert located.path == str(snapshot)
    assert str(snapshot) in located.description


def test_a_hub_id_whose_weights_are_not_all_there_is_still_to_be_fetched(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = cached(hub, "main")
    index = {"weight_map": {"a": "model.safetensors", "b": "rest.safetensors"}}
    (snapshot / "model.safetensors.index.json").write_text(json.dumps(index))
    located = locate("org/model")
    assert located.path is None
    assert "not whole in the cache: the first start fetches it" in located.description
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceError, match="not whole in the cache, and HF_HUB_OFFLINE"):
        locate("org/model")


def test_another_revision_in_the_cache_is_not_the_one_wanted(hub: Path) -> None:
    cached(hub, "v2")
    assert "not in the cache" in locate("org/model").description
    assert "v2" not in locate("org/model", revision="v2").description
    assert locate("org/model").path is None
    assert "in the cache /" in locate("org/model", revision="v2").description


def test_a_hub_id_that_cannot_be_fetched_is_refused(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SourceError, match="not in the cache, and HF_HUB_OFFLINE"):
        locate("org/model")
