"""Answers that vLLM's configuration works out anew for each serving object.

Each hashes the whole configuration for its fingerprint and reads the model's generation
config from its folder, some ten milliseconds of the processor a time; a reload builds a
dozen of them while requests are answered.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from copy import copy
from typing import Any

_ASKED_OF_MODEL = ("try_get_generation_config", "get_diff_sampling_param")
_lock = threading.Lock()


class Known:
    """A method of a configuration whose answer is known, of which each call has a copy.

    It travels with the configuration, should that be pickled.

    Args:
        config: The configuration.
        name: The method's name.
    """

    def __init__(self, config: Any, name: str) -> None:
        self._config = config
        self._method = getattr(type(config), name)
        self._answer = self._method(config)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The answer; one to other questions is not kept."""
        if args or keywords:
            return self._method(self._config, *args, **keywords)
        return copy(self._answer)


def remember(vllm_config: Any) -> None:
    """Let a configuration that will not change any more answer from memory.

    An answer it cannot give is left for those who ask; a second call does nothing.

    Args:
        vllm_config: A ``VllmConfig`` whose engine runs: until then it may change.

    Source:
        vllm/entrypoints/serve/utils/fingerprint.py, vllm/config/model.py (0.32.0).
    """
    with _lock:
        _remember(vllm_config, "compute_hash")
        for name in _ASKED_OF_MODEL:
            _remember(vllm_config.model_config, name)


def _remember(config: Any, name: str) -> None:
    if not isinstance(getattr(config, name, None), Known):
        with suppress(Exception):
            setattr(config, name, Known(config, name))
