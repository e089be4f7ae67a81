"""Doubles for tests: no GPU, no weights, no engine process, no model hub.

Put a :class:`FakeEngine` where the engine would be and everything above it is real:
template, tokenizer, renderer, serving objects, streaming, usage, errors::

    with container.engine.override(FakeEngine("Paris.")):
        ...

:func:`tiny_model` writes the model folder such a test needs. Importing this package
loads nothing of vLLM; constructing a :class:`FakeEngine` does.
"""

from containers.testing.engine import FakeEngine
from containers.testing.requests import RecordedRequest, RequestState
from containers.testing.script import Script, Token
from containers.testing.templates import CHATML, STRICT, TOOL_USE
from containers.testing.tiny_model import tiny_model

__all__ = [
    "CHATML",
    "STRICT",
    "TOOL_USE",
    "FakeEngine",
    "RecordedRequest",
    "RequestState",
    "Script",
    "Token",
    "tiny_model",
]
