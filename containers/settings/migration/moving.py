"""Relative paths of a command, as a file in another folder has to write them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from containers.settings.places import (
    SERVER_FILES,
    is_path,
    names_folder,
    names_text_file,
)

_FILES = frozenset(
    {
        *(f"server.{name}" for name in SERVER_FILES),
        "models[].chat.tool_parser_plugin",
    }
)


class Mover:
    """Writes relative paths anew.

    Args:
        folder: Where the config file is to be; by default where the command is run.
        is_known: Whether the command is run in the current folder, not in a container.

    Attributes:
        notes: Paths that stay as they are, since nobody knows where they lead.
    """

    def __init__(self, folder: Path | None, *, is_known: bool) -> None:
        self._here = Path.cwd()
        self._folder = self._here if folder is None else folder.absolute()
        self._is_known = is_known
        self.notes: list[str] = []

    def moved(self, key: str, value: Any) -> Any:
        """The value of a key, its paths as the config file's folder sees them."""
        if key == "models[].lora.modules":
            return [{**each, "path": self._source(key, each["path"])} for each in value]
        if not isinstance(value, str):
            return value
        if key == "models[].source":
            return self._source(key, value)
        here = self._here if self._is_known else None
        is_template = key == "models[].chat.template" and names_text_file(value, here)
        return self._path(key, value) if key in _FILES or is_template else value

    def _source(self, key: str, value: str) -> str:
        is_folder = (
            names_folder(value, self._here) if self._is_known else is_path(value)
        )
        return self._path(key, value) if is_folder else value

    def _path(self, key: str, value: str) -> str:
        if Path(value).is_absolute() or value.startswith(("~", "$")):
            return value
        if not self._is_known:
            self.notes.append(
                f"{key} is a path in the container: {value}, from its working folder"
            )
        if not self._is_known or self._folder == self._here:
            return value
        path = os.path.relpath(self._here / value, self._folder)
        return path if path.startswith(os.pardir) else f"./{path}"
