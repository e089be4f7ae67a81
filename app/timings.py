"""The start-up record: a file with the seconds of each resource."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dependency_injector.containers import Container

from containers.errors import SettingsError
from containers.graph import Span, Spans
from containers.lifecycle import Record, lifecycle_of
from containers.version import __version__
from containers.vllm_api import installed_version

FORMAT = 1


def write_timings(path: Path, models: Mapping[str, Container]) -> None:
    """Write when each resource of the running models was loaded, as JSON.

    Args:
        path: The file; replaced as a whole.
        models: Running containers by model name.

    Raises:
        OSError: It cannot be written.
    """
    records = {name: _records(container) for name, container in models.items()}
    times = [r.started_at for found in records.values() for r in found]
    began_at = min((time for time in times if time is not None), default=0.0)
    content = {
        "format": FORMAT,
        "versions": {"vllm-di": __version__, "vllm": installed_version()},
        "began_at": began_at,
        "models": {
            name: [_entry(record, began_at) for record in found]
            for name, found in records.items()
        },
    }
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(f"{json.dumps(content, indent=1)}\n", encoding="utf-8")
    partial.replace(path)


def save_timings(
    path: Path, models: Mapping[str, Container], say: Callable[[str], None]
) -> None:
    """Write the start-up record; a file that cannot be written ends no server.

    Args:
        path: The file.
        models: Running containers by model name.
        say: Told when it cannot be written.
    """
    try:
        write_timings(path, models)
    except OSError as error:
        say(f"{path} cannot be written: {error.strerror}")


def read_timings(path: Path) -> dict[str, Spans]:
    """Spans of each model's resources, from a file of :func:`write_timings`.

    Raises:
        SettingsError: The file cannot be read, or is no start-up record.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: {
                entry["name"]: Span(float(entry["begin_s"]), float(entry["seconds"]))
                for entry in entries
                if entry["seconds"] is not None
            }
            for name, entries in content["models"].items()
        }
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except (ValueError, TypeError, LookupError, AttributeError):
        reason = "is no start-up record"
    hint = "Write one with: vllm-di serve --timings FILE"
    raise SettingsError(file=str(path), reason=reason, hint=hint)


def _records(container: Container) -> list[Record]:
    return list(lifecycle_of(container).records.values())


def _entry(record: Record, began_at: float) -> dict[str, Any]:
    begin = None if record.started_at is None else record.started_at - began_at
    return {
        "name": record.name,
        "state": record.state,
        "begin_s": None if begin is None else round(begin, 4),
        "seconds": None if record.seconds is None else round(record.seconds, 4),
    }
