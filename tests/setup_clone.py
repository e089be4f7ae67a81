"""A copy of the project in which ``make setup`` downloads nothing.

The environment's interpreter is a stand-in that notes what pip is asked to do; all else
is the real thing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTHON = f"""#!/bin/sh
case "$*" in
    *"pip index versions"*) echo "Available versions: 2.13.0+cpu, 0.32.0, 2.17" ;;
    *"pip install"*)
        echo "begin $*" >> "$PIP_LOG"
        case "$*" in *"$PIP_FAILS"*) echo "pip says no"; exit 1 ;; esac
        [ "$PIP_TAKES_S" = 0 ] || exec "{sys.executable}" -c "$PIP_WORK"
        ;;
    *verify.py*) [ "$VERSIONS" = right ] || exit 1 ;;
    *) exec "{sys.executable}" "$@" ;;
esac
"""


class Clone:
    """A copy of the project with an environment that somebody made by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / ".venv"
        self.log = folder / "pip.log"
        for name in ("tools", "requirements"):
            shutil.copytree(ROOT / name, folder / name)
        (folder / "containers").mkdir()
        for name in ("Makefile", "pyproject.toml", "containers/version.py"):
            shutil.copy(ROOT / name, folder / name)
        (self.venv / "bin").mkdir(parents=True)
        self.program("python", PYTHON)
        # No step of an environment that was in use before asks for 8 GB of disk.
        (self.venv / ".stamps").mkdir()
        for step in ("torch", "cpu.lock", "dev.lock", "project"):
            (self.venv / ".stamps" / step).write_text("of an older set-up")

    def program(self, name: str, text: str) -> None:
        path = self.venv / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def start(self, target: str, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["make", target, f"PYTHON={sys.executable}", "VENV=.venv"],
            cwd=self.folder,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
                "PIP_LOG": str(self.log),
                "PIP_FAILS": "no step at all",
                "PIP_TAKES_S": "0",
                "VERSIONS": "right",
                **settings,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def make(self, target: str = "setup", **settings: str) -> tuple[int, str]:
        return ended(self.start(target, **settings))

    def installed(self) -> list[str]:
        """What pip was asked to install since the last question, by last words."""
        if not self.log.exists():
            return []
        lines = self.log.read_text().splitlines()
        self.log.unlink()
        return [line.split()[-1].rpartition("/")[2] for line in lines]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit status and all that was printed."""
    output, _ = process.communicate(timeout=30)
    return process.returncode, output


def wait_for(path: Path, timeout_s: float = 10) -> str:
    """The content of a file, as soon as it has some."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.02)
    pytest.fail(f"{path} did not appear in {timeout_s} s")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
