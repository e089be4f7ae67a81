"""One process, one engine: each of several workers would load the model anew."""

from __future__ import annotations

import multiprocessing
from typing import Any

from containers.errors import SettingsError


def refuse_sibling_workers() -> None:
    """Refuse to start in one of several uvicorn worker processes.

    Each worker would load the model anew, and the second would find the accelerator's
    memory taken. A single worker, and uvicorn's ``--reload``, are fine.

    Raises:
        SettingsError: uvicorn was told to run more than one worker.
    """
    # uvicorn hands its configuration to its workers as an argument, and nowhere else.
    arguments: Any = getattr(multiprocessing.current_process(), "_kwargs", None) or {}
    workers = getattr(arguments.get("config"), "workers", None) or 1
    if workers > 1:
        raise SettingsError(
            key="workers",
            reason=f"uvicorn runs {workers} workers, and each would load the model",
            hint="Use one: the engine batches the requests of any number of clients.",
        )
