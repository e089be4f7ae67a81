"""The file of a cassette: JSON Lines, a heading and then one line an answer.

Whole lines are appended in one write each, so a kill leaves at most the last line torn;
such a line is passed over when the file is read, and cut off before more is written.
Whatever rewrites the file puts a complete one in its place.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from containers.errors import CassetteError
from containers.testing.cassettes.plain import Plain
from containers.vllm_api import installed_version

logger = logging.getLogger(__name__)

FORMAT = "vllm-di cassette"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One recorded answer.

    Attributes:
        line: Its line in the file, from 1.
        request: What was asked.
        outputs: What the engine yielded, each with the seconds it took.
        end: ``finished``, ``aborted`` (its reader left) or ``failed``.
        error: What it failed with, or ``None``.
    """

    line: int
    request: Plain
    outputs: list[Plain]
    end: str
    error: Plain | None = None


def read(path: Path) -> list[Episode]:
    """Every whole answer of a cassette, in the order they ended.

    Raises:
        CassetteError: It is not there, of another format or version, or broken.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise CassetteError(
            path=str(path),
            reason=f"it cannot be read ({error.strerror})",
            hint="Record it first: RecordingEngine, or pytest --vllm-di-record.",
        ) from error
    if lines.pop().strip():
        logger.warning("%s ends in a torn line, which is passed over", path)
    heading, *rest = lines or [b""]
    _require_heading(path, _parsed(path, heading, 1))
    return [
        Episode(line=number, **_parsed(path, line, number))
        for number, line in enumerate(rest, start=2)
        if line.strip()
    ]


def append(path: Path, entry: Plain) -> None:
    """Add an answer at the end, and make the file if there is none."""
    if not path.exists():
        rewrite(path, entry)
        return
    _cut_torn_line(path)
    with path.open("ab", buffering=0) as file:
        file.write(_line(entry))


def rewrite(path: Path, *entries: Plain) -> None:
    """Put a cassette of these answers alone in the file's place, at one stroke."""
    heading = {"format": FORMAT, "version": VERSION, "vllm": installed_version()}
    _replace(path, b"".join(map(_line, (heading, *entries))))


def _cut_torn_line(path: Path) -> None:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return
        file.seek(-1, os.SEEK_END)
        if file.read() == b"\n":
            return
    content = path.read_bytes()
    _replace(path, content[: content.rfind(b"\n") + 1])


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _line(entry: Plain) -> bytes:
    text = json.dumps(entry, ensure_ascii=False, allow_nan=False)
    # Half a surrogate pair has no UTF-8, but an escape that JSON knows.
    return text.encode(errors="backslashreplace") + b"\n"


def _parsed(path: Path, line: bytes, number: int) -> Any:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise _broken(path, number, f"it is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise _broken(path, number, "it is no JSON object")
    if number > 1 and found.keys() - {"error"} != {"request", "outputs", "end"}:
        raise _broken(path, number, "it is no recorded answer")
    return found


def _broken(path: Path, line: int, reason: str) -> CassetteError:
    hint = "Remove the line, or record the cassette anew."
    return CassetteError(path=str(path), line=line, reason=reason, hint=hint)


def _require_heading(path: Path, heading: Plain) -> None:
    if heading.get("format") != FORMAT:
        raise _broken(path, 1, f"it does not begin with the format {FORMAT!r}")
    if heading.get("version") != VERSION:
        raise CassetteError(
            path=str(path),
            reason=f"its version is {heading.get('version')!r}, known is {VERSION}",
            hint="Record it anew with --vllm-di-record=all.",
        )
