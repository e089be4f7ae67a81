"""Files that hold keys, read anew when they change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from containers.errors import SettingsError

MAX_BYTES = 1024 * 1024
HINT = "Write a line for each key: KEY, or NAME KEY."


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A file that holds one key, or a key on each line.

    Attributes:
        path: Its path.
        setting: The key of the settings that names it, for errors.
        name: Whose its one key is; empty for a file of many keys.
    """

    path: str
    setting: str
    name: str = ""

    def version(self) -> tuple[int, ...]:
        """Differs when the file has changed; nothing if it is not there."""
        try:
            found = os.stat(self.path)  # noqa: PTH116  # follows links, as a mounted secret needs
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> list[tuple[str, bytes]]:
        """Name and key of each entry; the name is empty where it has none.

        Raises:
            SettingsError: It cannot be read, or holds no key.
        """
        try:
            with Path(self.path).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise self._refused(f"cannot be read: {error.strerror}") from error
        if len(content) > MAX_BYTES:
            raise self._refused(f"is larger than {MAX_BYTES} bytes")
        if self.name:
            entries = [(self.name, content.strip())] if content.strip() else []
        else:
            entries = list(self._entries(content))
        if not entries:
            raise self._refused("holds no key")
        return entries

    def _entries(self, content: bytes) -> Iterator[tuple[str, bytes]]:
        for number, line in enumerate(content.splitlines(), start=1):
            words = line.split()
            if not words or words[0].startswith(b"#"):
                continue
            if len(words) > 2:  # noqa: PLR2004  # a name and a key
                raise self._refused(f"has more than a name and a key on line {number}")
            name = words[0].decode("utf-8", "replace") if len(words) > 1 else ""
            yield name, words[-1]

    def _refused(self, reason: str) -> SettingsError:
        return SettingsError(
            key=self.setting, reason=f"{self.path} {reason}", hint=HINT
        )
