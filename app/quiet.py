"""How much vLLM and torch log."""

from __future__ import annotations

import logging
import os

QUIET = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_LOGS": "-all",  # errors only
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore::FutureWarning,ignore::DeprecationWarning",
}
"""Environment of a quiet start; what is set already stays as it is."""


def be_quiet(**levels: str) -> None:
    """Let vLLM and torch log errors only, unless the environment asks for more.

    Counts for a vLLM that is imported later, here or in a child process.

    Args:
        levels: Environment variables to set otherwise than :data:`QUIET`.
    """
    for name, value in {**QUIET, **levels}.items():
        os.environ.setdefault(name, value)
    level = logging.getLevelName(os.environ["VLLM_LOGGING_LEVEL"].upper())
    if isinstance(level, int):  # for what vLLM logs before it reads the level
        logging.getLogger("vllm").setLevel(level)
