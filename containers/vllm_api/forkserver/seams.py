"""The names by which vLLM asks for the means to start a process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.context import BaseContext

NAME = "get_mp_context"
PLACES = ("vllm.v1.engine.utils", "vllm.v1.engine.coordinator")
"""Modules that start processes in the API process.

Source:
    ``CoreEngineProcManager``, ``DPCoordinator`` (0.32.0).
"""
DEFINITION = "vllm.utils.system_utils"


def everywhere(context: BaseContext) -> None:
    """Let all of vLLM in this process start processes through a context.

    For a process that is an engine's, and has imported vLLM already. vLLM's function
    still runs, for its effects.
    """
    original = getattr(sys.modules.get(DEFINITION), NAME, None)
    if original is None:
        return

    def get_mp_context() -> BaseContext:
        original()
        return context

    for name, module in list(sys.modules.items()):
        if name.startswith("vllm.") and vars(module).get(NAME) is original:
            setattr(module, NAME, get_mp_context)


@contextmanager
def in_this_thread(context: BaseContext) -> Iterator[None]:
    """Let engines that this thread starts come from a context, and no others.

    One thread at a time may be inside.
    """
    thread = threading.get_ident()
    modules = [import_module(place) for place in PLACES]
    originals = [getattr(module, NAME) for module in modules]

    def get_mp_context() -> BaseContext:
        own: BaseContext = originals[0]()
        return context if threading.get_ident() == thread else own

    for module in modules:
        setattr(module, NAME, get_mp_context)
    try:
        yield
    finally:
        for module, original in zip(modules, originals, strict=True):
            setattr(module, NAME, original)
