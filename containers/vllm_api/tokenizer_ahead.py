"""An engine core that loads its tokenizer while its workers load the model.

vLLM's engine core waits for its workers, which takes seconds to minutes, and then loads
a tokenizer for structured output, for which everybody waits. It keeps what it has
loaded, so one that a thread has loaded meanwhile is there when it is asked for.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from contextlib import suppress
from typing import Any, Self

from containers import vllm_api

ENGINE_CORE = "EngineCore"
"""How vLLM names the process, followed by its rank."""

LOOK_S = 0.005
GIVE_UP_S = 30.0
"""Seconds in which workers appear, or never will: the engine core computes itself."""


class TokenizerAhead:
    """Travels with an engine's configuration and loads its tokenizer where it arrives.

    Args:
        model_config: vLLM's ``ModelConfig``.
    """

    def __init__(self, model_config: Any) -> None:
        self._model_config = model_config

    def __reduce__(self) -> tuple[Any, ...]:
        """Arrive as :func:`arrive` makes it."""
        return arrive, (self._model_config,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Stay: a copy has not travelled."""
        return self


def attach_tokenizer_ahead(vllm_config: Any) -> None:
    """Let the engine core of this configuration load its tokenizer ahead.

    One that is code of the model's own is left to vLLM, and its one thread.
    """
    model_config = vllm_config.model_config
    if not (model_config.skip_tokenizer_init or model_config.trust_remote_code):
        vllm_config.vllm_di_tokenizer_ahead = TokenizerAhead(model_config)


def arrive(model_config: Any) -> TokenizerAhead:
    """Begin to load, if this is an engine core; anywhere else nothing happens."""
    if multiprocessing.current_process().name.startswith(ENGINE_CORE):
        threading.Thread(
            target=_load,
            args=(model_config,),
            name="vllm-di tokenizer ahead",
            daemon=True,
        ).start()
    return TokenizerAhead(model_config)


def _load(model_config: Any) -> None:
    """Load once this process has workers: until then it would keep it from those.

    Source:
        vllm/v1/structured_output/__init__.py ``StructuredOutputManager`` (0.31.0 to
        0.33.0), which asks for the same tokenizer and tells what is wrong with it.
    """
    with suppress(Exception):
        if _has_workers():
            vllm_api.cached_tokenizer_from_config(model_config)


def _has_workers() -> bool:
    deadline = time.monotonic() + GIVE_UP_S
    while not multiprocessing.active_children():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True
