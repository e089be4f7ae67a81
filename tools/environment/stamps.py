"""What was done to an environment, so that it is not done twice.

A stamp is a file in the environment that holds the fingerprint of a step's inputs. It
is removed before its step and written after it: a step that was cut short has none.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


def fingerprint(*parts: str | bytes) -> str:
    """A short name for all of ``parts``, the same as long as they are."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


@dataclass(frozen=True)
class Stamps:
    """The stamps in one folder, by the names of their steps."""

    folder: Path

    def holds(self, step: str, mark: str) -> bool:
        """Whether ``step`` was completed with this fingerprint."""
        return self.read(step) == mark

    def read(self, step: str) -> str | None:
        """The fingerprint ``step`` was completed with, or ``None``."""
        path = self.folder / step
        return path.read_text() if path.exists() else None

    def write(self, step: str, mark: str) -> None:
        """Record that ``step`` is complete."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / step).write_text(mark)

    def drop(self, step: str) -> None:
        """Record that ``step`` is not complete."""
        (self.folder / step).unlink(missing_ok=True)
