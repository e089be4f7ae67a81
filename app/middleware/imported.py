"""Middleware that the settings name by import path."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from starlette.middleware.base import BaseHTTPMiddleware

from containers.errors import SettingsError


def imported_middleware(path: str, *, index: int) -> Any:
    """Import a pure ASGI middleware class.

    Args:
        path: Its import path, such as ``package.module.Class``.
        index: Its place in ``server.middleware``, for the error.

    Raises:
        SettingsError: It cannot be imported, or is no pure ASGI class: a function, or
            a ``BaseHTTPMiddleware``, would keep a client's leaving from being noticed,
            and its generation would go on for nobody.
    """
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise _refused(index, f"{path} cannot be imported: {error}") from error
    if not inspect.isclass(found):
        raise _refused(index, f"{path} is no class")
    if issubclass(found, BaseHTTPMiddleware):
        raise _refused(index, f"{path} is a BaseHTTPMiddleware")
    return found


def _refused(index: int, reason: str) -> SettingsError:
    return SettingsError(
        key=f"server.middleware.{index}",
        reason=reason,
        hint="Name a pure ASGI class: __init__(app), __call__(scope, receive, send).",
    )
