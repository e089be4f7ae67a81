"""What packages export is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def exported(name: str, module: str) -> Any:
    """A name of a module, for a package's ``__getattr__``.

    Args:
        name: The name.
        module: Full name of the module that has it.

    Raises:
        ImportError: The module cannot be imported. ``from package import name`` takes
            an ``AttributeError`` for a missing name, and would not tell what is wrong.
    """
    try:
        return getattr(import_module(module), name)
    except AttributeError as error:
        raise ImportError(f"{module} cannot be imported: {error}") from error
