"""Recent warnings and errors, each with the provider it comes from."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from types import FrameType

import containers
from containers.errors import StartError
from containers.masks import masked
from containers.vllm_api.error_response import is_engine_death

LOGGERS = ("app", "containers")
N_REMEMBERED = 50
MAX_CHARS = 2000

_FOLDERS = (Path(__file__).parents[1], Path(containers.__file__).parent)
OURS = tuple(f"{folder}{os.sep}" for folder in _FOLDERS)
"""Where our own code is."""

_PROVIDERS = {"containers.serving.": "serving_", "containers.resources.": ""}
"""Where the code of providers is, and how their names begin."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One warning or error.

    Attributes:
        at: When, in seconds since the epoch.
        level: ``warning`` or ``error``.
        provider: Name of the provider it comes from; empty if it is none's.
        text: What the log says, of at most 2000 characters and without secrets.
        words: Texts that were filled into it, the model's name among them.
    """

    at: float
    level: str
    provider: str
    text: str
    words: tuple[str, ...] = ()


class Troubles:
    """What the server logs as a warning or an error; the last 50 are remembered."""

    def __init__(self) -> None:
        self._recent: deque[Trouble] = deque(maxlen=N_REMEMBERED)

    @property
    def recent(self) -> tuple[Trouble, ...]:
        """Those remembered, the latest first."""
        return tuple(reversed(self._recent))

    @asynccontextmanager
    async def heard(self) -> AsyncIterator[None]:
        """Listen to the log during the block."""
        ear = _Ear(self._recent)
        loggers = [logging.getLogger(name) for name in LOGGERS]
        for logger in loggers:
            logger.addHandler(ear)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(ear)


class _Ear(logging.Handler):
    def __init__(self, heard: deque[Trouble]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._hear(record)
        except Exception:  # noqa: BLE001  # to log raises nothing, as everywhere
            self.handleError(record)

    def _hear(self, record: logging.LogRecord) -> None:
        if logging.lastResort is not None and _is_heard_by_nobody(record):
            # An ear is no output: what goes to standard error without it still does.
            logging.lastResort.handle(record)
        if not record.pathname.startswith(OURS):
            return  # a host may have loggers of these names too
        args = record.args if isinstance(record.args, tuple) else ()
        self._heard.append(
            Trouble(
                at=record.created,
                level="error" if record.levelno >= logging.ERROR else "warning",
                provider=_provider(record, args),
                text=masked(record.getMessage())[:MAX_CHARS],
                words=tuple(each for each in args if isinstance(each, str)),
            )
        )


def _is_heard_by_nobody(record: logging.LogRecord) -> bool:
    """Whether no handler but an ear is asked for a record."""
    logger: logging.Logger | None = logging.getLogger(record.name)
    while logger is not None:
        if not all(isinstance(each, _Ear) for each in logger.handlers):
            return False
        logger = logger.parent if logger.propagate else None
    return True


def _provider(record: logging.LogRecord, args: tuple[object, ...]) -> str:
    told: str | None = getattr(record, "provider", None)
    if told is not None:
        return told
    raised = record.exc_info[1] if record.exc_info else None
    errors = [each for each in (raised, *args) if isinstance(each, BaseException)]
    return next(filter(None, map(provider_of, errors)), "")


def provider_of(error: BaseException) -> str:
    """Name of the provider an error comes from, or an empty string.

    It is the one whose builder failed, or the engine if that has died, or else the
    innermost one in whose code it was raised.
    """
    if isinstance(error, StartError):
        return error.resource
    if is_engine_death(error):
        return "engine"
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    modules = (each for frame in reversed(frames) for each in _modules(frame))
    return next(filter(None, map(_provider_in, modules)), "")


def _modules(frame: FrameType) -> tuple[str, str]:
    """Whose code it is, and whose object: methods of ours are vLLM's for the most."""
    owner = type(frame.f_locals.get("self"))
    return owner.__module__, frame.f_globals.get("__name__", "")


def _provider_in(module: str) -> str:
    for package, beginning in _PROVIDERS.items():
        if module.startswith(package):
            return beginning + module.rpartition(".")[2]
    return ""
