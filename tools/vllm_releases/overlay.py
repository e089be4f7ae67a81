"""``python -m tools.vllm_releases.overlay VERSION``: a release to lay over another.

Prints a folder for ``PYTHONPATH`` that holds what the release's lock pins otherwise
than ``cpu.lock``. Before the installed packages it makes the pinned environment one of
that release, as far as no engine starts: what is compiled of vLLM is left out.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.environment.stamps import Stamps, fingerprint
from tools.vllm_releases.wheels import PIP, QUIET

ROOT = Path(__file__).resolve().parents[2]
STAMP = "overlay"


def main(version: str) -> int:
    """Make the folder unless it is there, and print its path."""
    lock = ROOT / "requirements" / f"vllm-{version}.lock"
    folder = ROOT / "build" / f"vllm-{version}"
    stamps, mark = Stamps(folder / ".stamps"), fingerprint(lock.read_bytes())
    if not stamps.holds(STAMP, mark):
        shutil.rmtree(folder, ignore_errors=True)
        fill(folder, lock)
        stamps.write(STAMP, mark)
    sys.stdout.write(f"{folder}\n")
    return 0


def fill(folder: Path, lock: Path) -> None:
    """Put what a lock pins into a folder."""
    options = ("--no-deps", "--no-compile", "--only-binary", ":all:", *QUIET)
    command = [*PIP, "install", *options, "--target", str(folder), "-r", str(lock)]
    subprocess.run(command, check=True, stdout=sys.stderr)
    for compiled in (folder / "vllm").rglob("*.so"):
        compiled.unlink()
    # The pinned environment's own record of vLLM stands; two would be two builds.
    for record in folder.glob("vllm*.dist-info"):
        shutil.rmtree(record)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
