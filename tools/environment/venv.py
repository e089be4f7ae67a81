"""The virtual environment itself: made once, mended when it is broken."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.environment import run
from tools.environment.stamps import Stamps, fingerprint
from tools.environment.steps import PYTHON_VERSION

STEP = "venv"


@dataclass(frozen=True)
class Venv:
    """One environment folder.

    Attributes:
        folder: Absolute path; its scripts name it, so a moved one is made anew.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def stamps(self) -> Stamps:
        """What was done to it."""
        return Stamps(self.folder / ".stamps")

    @property
    def mark(self) -> str:
        """Fingerprint of what it should be."""
        return fingerprint(PYTHON_VERSION, str(self.folder))

    def is_ready(self) -> bool:
        """Whether it is complete, for this Python, and runs.

        One that somebody else made, with pip and for this Python, is taken over.
        """
        if self.stamps.read(STEP) is None and self._has_pip():
            self.stamps.write(STEP, self.mark)
        return self.stamps.holds(STEP, self.mark) and self._has_pip()

    def problems(self) -> list[str]:
        """One paragraph when ``make`` would remove what no set-up put there."""
        ours = self.stamps.folder.is_dir()
        if ours or not self.folder.exists() or not any(self.folder.iterdir()):
            return []
        problem = (
            f"{self.folder} exists, and is not an environment for Python "
            f"{PYTHON_VERSION} with pip. Remove it, or choose another place: "
            "`make setup VENV=...`."
        )
        return [problem]

    def make(self, lock: int) -> None:
        """Make it from nothing; what an earlier set-up left is removed."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.stamps.write(STEP, "half made")
        # Inside an activated environment, its base makes the new one.
        base = getattr(sys, "_base_executable", sys.executable)
        run.step(
            f"environment {self.folder.name}, Python {PYTHON_VERSION}",
            [base, "-I", "-m", "venv", str(self.folder)],
            lock=lock,
            hint="Remove the folder and try again.",
        )
        self.stamps.write(STEP, self.mark)

    @property
    def scratch(self) -> Path:
        """Where pip keeps what it downloads until it is installed, at most 1 GB."""
        return self.folder / ".tmp"

    def sweep(self) -> None:
        """Remove what a killed pip left: half installed packages, and its downloads.

        pip writes ``INSTALLER`` at the end of an installation, and sets what it
        replaces aside under a name with a tilde.
        """
        for packages in self.folder.glob("lib/python*/site-packages"):
            half = [
                record
                for record in packages.glob("*.dist-info")
                if not (record / "INSTALLER").exists()
            ]
            for path in [*half, *packages.glob("~*")]:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()

    def _has_pip(self) -> bool:
        wanted = tuple(sys.version_info[:2])
        probe = f"import pip, sys; sys.exit(sys.version_info[:2] != {wanted})"
        try:
            done = subprocess.run(
                [self.python, "-I", "-c", probe], capture_output=True, check=False
            )
        except OSError:
            return False
        return done.returncode == 0
