"""Whether Cohere's Chat API is served, as vLLM decides it."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec

logger = logging.getLogger(__name__)

SWITCH = "VLLM_ENABLE_COHERE_API"


def is_cohere_enabled() -> bool:
    """Whether the environment asks for it and Cohere's package is there.

    Source:
        vllm/entrypoints/cohere/api_router.py ``attach_router`` (0.32.0).
    """
    if os.environ.get(SWITCH, "0").strip() in ("", "0"):
        return False
    if find_spec("cohere") is None:
        logger.warning("%s is set, but the package is not there: cohere", SWITCH)
        return False
    return True
