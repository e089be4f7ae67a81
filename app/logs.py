"""The logs of the ``vllm-di serve`` process: their form, and who says how much.

Nothing here touches the logs of an app of somebody's own.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from containers.log_format import Format, StandardError, formatter
from containers.settings import ModelSettings
from containers.settings.server.observing import LogSettings

OWN = ("vllm_di", "app", "containers")
"""Loggers of this server itself."""

COMMAND = "vllm_di.serve"
"""Logger of what the command says."""

VLLM_LEVEL = "VLLM_LOGGING_LEVEL"
VLLM_CONFIG = "VLLM_LOGGING_CONFIG_PATH"
VLLMS_OWN = (
    VLLM_CONFIG,
    "VLLM_CONFIGURE_LOGGING",
    "VLLM_LOGGING_STREAM",
    "VLLM_LOGGING_PREFIX",
    "VLLM_LOGGING_COLOR",
)
"""Variables of whoever wants vLLM's lines as vLLM writes them."""


def format_of(settings: LogSettings) -> Format:
    """The form of log lines, on this very standard error."""
    if settings.format == "auto":
        return "text" if sys.stderr.isatty() else "json"
    return settings.format


@contextmanager
def logs(
    settings: LogSettings, models: Iterable[ModelSettings] = ()
) -> Iterator[Format]:
    """Log as the settings say, in this process and those of its engines.

    It has to be entered before vLLM is imported, here or in a child.

    Args:
        settings: What is logged, and how.
        models: The models that will be served. Where one is on other machines too,
            which cannot read what is set up here, vLLM's lines stay as vLLM writes
            them.

    Yields:
        The form of log lines.
    """
    form = format_of(settings)
    handler = StandardError()
    handler.setFormatter(formatter(form))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    levels = dict.fromkeys(OWN, settings.level) | {COMMAND: "info"} | settings.levels
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level.upper())
    if "vllm" in settings.levels:
        os.environ[VLLM_LEVEL] = settings.levels["vllm"].upper()
    is_vllms = any(name in os.environ for name in VLLMS_OWN)
    if is_vllms or any(map(_is_elsewhere, models)):
        yield form
        return
    # A file of memory: nothing is left behind, however the process ends.
    with os.fdopen(os.memfd_create("vllm-di-logs"), "w", encoding="utf-8") as file:
        json.dump(_for_vllm(form), file)
        file.flush()
        os.environ[VLLM_CONFIG] = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        try:
            yield form
        finally:
            del os.environ[VLLM_CONFIG]


def set_levels(levels: Mapping[str, str | None]) -> None:
    """Have loggers say as much as levels allow; ``None`` for that of the one above."""
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level.upper() if level else logging.NOTSET)


def are_ours() -> bool:
    """Whether the logs of this process are set up by :func:`logs`."""
    return any(isinstance(each, StandardError) for each in logging.root.handlers)


def _is_elsewhere(model: ModelSettings) -> bool:
    """Whether processes of its engine may be on other machines."""
    engine = model.engine
    backends = ("distributed_executor_backend", "data_parallel_backend")
    uses_ray = any(engine.get(name) == "ray" for name in backends)
    return uses_ray or (engine.get("nnodes") or 1) > 1


def _for_vllm(form: Format) -> dict[str, Any]:
    """vLLM's own logging, as ``logging.config.dictConfig`` takes it.

    Source:
        vllm/logger.py ``_configure_vllm_root_logger`` (0.32.0).
    """
    handler = f"{StandardError.__module__}.{StandardError.__name__}"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "vllm_di": {"()": f"{formatter.__module__}.formatter", "kind": form}
        },
        "handlers": {"vllm_di": {"class": handler, "formatter": "vllm_di"}},
        "loggers": {
            "vllm": {
                "handlers": ["vllm_di"],
                "level": os.environ.get(VLLM_LEVEL, "ERROR").upper(),
                "propagate": False,
            }
        },
    }
