"""``python -m tools.vllm_releases OLD NEW``: what changed in all that the door uses."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from containers.vllm_api.names import NAMES, came_with, place_of
from tools.vllm_releases.differences import Section, Side, differences
from tools.vllm_releases.source import Source
from tools.vllm_releases.wheels import NoReleaseError, python_files

CACHE = Path(__file__).resolve().parents[2] / "build" / "vllm-files"


def main() -> int:
    """Print the differences; the return value is the exit status."""
    parser = argparse.ArgumentParser(prog="make vllm-diff")
    parser.add_argument("old", help="a release, such as 0.32.0, or a folder of one")
    parser.add_argument("new", help="another one")
    parser.add_argument("--cache", type=Path, default=CACHE, help="keeps what it reads")
    arguments = parser.parse_args()
    try:
        old, new = (
            side(python_files(version, arguments.cache))
            for version in (arguments.old, arguments.new)
        )
    except NoReleaseError as error:
        sys.stderr.write(f"vllm-diff: pip finds no such release: {error}\n")
        return 1
    report(differences(old, new), f"vLLM {arguments.old} to {arguments.new}")
    return 0


def side(folder: Path) -> Side:
    """A release with the places of the names as our tables have them."""
    text = (folder / "vllm" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r"^__version__ .*?(\d+\.\d+)", text, re.MULTILINE)
    line = found[1] if found else ""
    places = {name: place_of(name, line) for name in NAMES if not came_with(name, line)}
    return Side(Source(folder), places)


def report(sections: list[Section], title: str) -> None:
    """Print them."""
    lines = [f"{title}, in what vllm-di uses of it ({len(NAMES)} names):"]
    for section in sections:
        lines += ["", section.heading, *(f"  {line}" for line in section.lines)]
    sys.stdout.write("\n".join(lines) + "\n")
    if not sections:
        sys.stdout.write("nothing changed\n")


if __name__ == "__main__":
    sys.exit(main())
