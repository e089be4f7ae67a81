"""Files that change while a server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path

from app.service import Service
from containers.lifecycle import lifecycle_of

LOOK_EVERY_S = 1.0
"""Seconds between two looks."""

Version = tuple[int, int, int] | None
Versions = dict[Path, Version]


async def changes(files: Callable[[], Iterable[Path]]) -> AsyncIterator[list[str]]:
    """Names of the files that have changed, whenever some have and none does any more.

    It looks again and again, which sees what is mounted or linked anew as well.

    Args:
        files: Gives the files, which may be others from time to time.
    """
    known: Versions = {}
    before: Versions = {}
    while True:
        seen = await asyncio.to_thread(_versions, tuple(files()))
        known = {file: known.get(file, version) for file, version in seen.items()}
        changed = [file for file in seen if seen[file] != known[file]]
        # A file that is being written is left alone until the next look.
        if changed and seen == before:
            known = seen
            yield sorted(map(str, changed))
        before = seen
        await asyncio.sleep(LOOK_EVERY_S)


def files_of(service: Service) -> Iterator[Path]:
    """The files that what is served depends on: settings and chat templates."""
    yield from service.setting_files
    for model in service.models:
        template = lifecycle_of(model.container).objects.get("chat_template")
        file = getattr(template, "file", None)
        if file is not None:
            yield file


def _versions(files: Iterable[Path]) -> Versions:
    return {file: _version(file) for file in files}


def _version(file: Path) -> Version:
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino
