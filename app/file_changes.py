"""Files that change while a server runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from app.service import Service
from containers.chat_template import ChatTemplate
from containers.file_version import FileVersions, file_versions
from containers.lifecycle import lifecycle_of

LOOK_EVERY_S = 1.0
"""Seconds between two looks."""


async def changes(files: Callable[[], FileVersions]) -> AsyncIterator[list[str]]:
    """Names of the files that have changed, whenever some have and none does any more.

    It looks again and again, which sees what is mounted or linked anew as well.

    Args:
        files: Gives the files, which may be others from time to time, with the version
            that was read of each: what has changed since then is told, too.
    """
    known: FileVersions = {}
    before: FileVersions = {}
    while True:
        was_read = files()
        seen = await asyncio.to_thread(file_versions, was_read)
        known = {file: known.get(file, version) for file, version in was_read.items()}
        changed = [file for file in seen if seen[file] != known[file]]
        # A file that is being written is left alone until the next look.
        if changed and seen == before:
            known = seen
            yield sorted(map(str, changed))
        before = seen
        await asyncio.sleep(LOOK_EVERY_S)


def files_of(service: Service) -> FileVersions:
    """The files that what is served depends on: settings and chat templates."""
    files = dict(service.setting_files)
    for model in service.models:
        template = lifecycle_of(model.container).objects.get("chat_template")
        if isinstance(template, ChatTemplate) and template.file is not None:
            files[template.file] = template.file_version
    return files
