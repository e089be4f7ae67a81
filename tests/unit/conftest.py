"""What several unit tests need."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest

from app.logs import COMMAND, VLLM_LEVEL


@pytest.fixture
def logging_put_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the logging of the test run back."""
    for name in [name for name in os.environ if name.startswith("VLLM_LOGGING")]:
        monkeypatch.delenv(name)
    names = (COMMAND, "vllm_di", "app", "containers", "vllm", "some.thing")
    root, loggers = logging.getLogger(), [logging.getLogger(name) for name in names]
    handlers, levels = root.handlers[:], [each.level for each in (root, *loggers)]
    vllm = logging.getLogger("vllm")
    of_vllm = (vllm.handlers[:], vllm.propagate)
    root.handlers[:] = []
    yield
    root.handlers[:] = handlers
    vllm.handlers[:], vllm.propagate = of_vllm
    for each, level in zip((root, *loggers), levels, strict=True):
        each.setLevel(level)
    os.environ.pop(VLLM_LEVEL, None)
