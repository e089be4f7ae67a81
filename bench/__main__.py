"""Every measurement, or those named: ``python -m bench [PART ...]``.

A table of each is printed; values and pictures go to a folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import surroundings

PARTS = {
    "small": ["small", "5"],
    "frontend": ["frontend", "5", "--curves"],
    "start": ["first_answer", "5"],
    "frontends": ["several_front_ends", "5"],
    "tests": ["route_tests"],
    "observation": ["observation", "5"],
    "deaths": ["kill_engine", "4"],
    "reloads": ["template_reloads", "100"],
}
"""Name of a part to its module and arguments."""

WITH_JSON = ("small", "frontend", "start", "frontends", "observation")


def run(part: str, folder: Path) -> int:
    """Run a part in a process of its own; gives its exit status."""
    module, *arguments = PARTS[part]
    if part in WITH_JSON:
        arguments += ["--json", str(folder)]
    print(f"\n== {part}", flush=True)
    command = [sys.executable, "-m", f"bench.{module}", *arguments]
    began = time.monotonic()
    status = subprocess.run(command, check=False).returncode  # noqa: S603  # our own modules
    print(f"({time.monotonic() - began:.0f} s)", flush=True)
    return status


def main() -> int:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    folder = Path("build/bench")
    parser.add_argument("--folder", type=Path, default=folder, help=f"({folder})")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(
            f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}"
        )
    print(*(f"{name}: {value}" for name, value in surroundings().items()), sep="\n")
    print(f"values and pictures: {options.folder}")
    return max(run(part, options.folder) for part in options.parts or PARTS)


if __name__ == "__main__":
    sys.exit(main())
