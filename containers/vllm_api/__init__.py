"""The one door to vLLM: nothing else in this project imports it.

Importing this package loads nothing of vLLM. A name is looked up when it is first
asked for: ``from containers.vllm_api import OpenAIServingChat`` finds it where the
installed release keeps it (:mod:`containers.vllm_api.names`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from containers.errors import VllmMismatchError
from containers.vllm_api.names import MOVED, NAMES
from containers.vllm_api.release import INSTALL_HINT, installed_version, release_line

__all__ = ["NAMES", "installed_version", "release_line"]


def __getattr__(name: str) -> Any:
    """Find a vLLM name where the installed release keeps it.

    Raises:
        AttributeError: The name is not in the table.
        VllmMismatchError: vLLM is absent, unsupported or incomplete.
    """
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    line = release_line()
    place = MOVED.get(line, {}).get(name, NAMES[name])
    module_name, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module_name), attribute or name)
    except (ImportError, AttributeError) as error:
        raise VllmMismatchError(
            found=installed_version(),
            supported=[line],
            reason=f"{name} cannot be imported from {module_name}: {error}",
            hint=INSTALL_HINT,
        ) from error
    globals()[name] = found
    return found
