"""The one door to vLLM: nothing else in this project imports it.

Importing this package loads nothing of vLLM. A name is looked up when it is first
asked for: ``from containers.vllm_api import OpenAIServingChat`` finds it where the
installed release keeps it (:mod:`containers.vllm_api.names`), and takes the keywords
of the newest supported release on every one (:mod:`containers.vllm_api.arguments`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from containers.vllm_api.arguments import adapted
from containers.vllm_api.builds import broken_companion
from containers.vllm_api.names import NAMES, came_with, place_of
from containers.vllm_api.release import (
    ADD_HINT,
    INSTALL_HINT,
    installed_version,
    is_supported,
    mismatch,
    nearest_line,
    release_line,
)

__all__ = ["NAMES", "installed_version", "is_supported", "offers", "release_line"]


def offers(name: str) -> bool:
    """Whether the installed vLLM has one of our names, or a later one brought it.

    Nothing is imported; without a supported vLLM it is as the newest one has it.
    """
    return came_with(name, nearest_line()) is None


def __getattr__(name: str) -> Any:
    """Find a vLLM name where the installed release keeps it.

    Raises:
        AttributeError: The name is not in the table.
        VllmMismatchError: vLLM is absent, unsupported or incomplete.
    """
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    line = release_line()
    later = came_with(name, line)
    if later is not None:
        raise mismatch(f"{name} came with vLLM {later}", INSTALL_HINT)
    module_name, attribute = place_of(name, line)
    try:
        found = getattr(import_module(module_name), attribute)
    except Exception as error:  # whatever the import of a broken install raises
        reason = f"{name} cannot be imported from {module_name}: {error}"
        hint = INSTALL_HINT if is_supported() else ADD_HINT
        raise mismatch(*(broken_companion() or (reason, hint))) from error
    globals()[name] = made = adapted(name, found, line)
    return made
