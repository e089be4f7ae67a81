"""``python tools/lock_difference.py LOCK OTHER``: what OTHER pins and LOCK does not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PIN = re.compile(r"^[a-z0-9].*\n(?: .*\n)*", re.MULTILINE)


def pins(path: str) -> dict[str, str]:
    """Each pin with its hashes, by the requirement without its markers."""
    blocks = PIN.findall(Path(path).read_text(encoding="utf-8"))
    return {re.split(r"[ ;]", block, maxsplit=1)[0]: block for block in blocks}


if __name__ == "__main__":
    known, wanted = pins(sys.argv[1]), pins(sys.argv[2])
    sys.stdout.write("".join(wanted[pin] for pin in wanted if pin not in known))
