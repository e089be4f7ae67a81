"""Doubles for tests: no GPU, no weights, no engine process, no model hub.

Put a :class:`FakeEngine` where the engine would be and everything above it is real:
template, tokenizer, renderer, serving objects, streaming, usage, errors::

    with override(container, engine=FakeEngine("Paris.")):
        ...

:func:`tiny_model` writes the model folder such a test needs. :class:`RecordingEngine`
and :class:`ReplayEngine` keep what a real engine answered. :func:`fake_container` and
the serving fakes do without vLLM. Importing this package loads nothing of vLLM;
constructing an engine does.
"""

from containers.testing.cassettes import Mode, RecordingEngine, ReplayEngine
from containers.testing.engine import FakeEngine
from containers.testing.overrides import override
from containers.testing.requests import RecordedRequest, RequestState
from containers.testing.script import Script, Token
from containers.testing.serving import (
    FakeServingChat,
    FakeServingCompletion,
    FakeServingEmbedding,
    FakeServingTokenization,
    fake_container,
)
from containers.testing.slow_tokenizer import slow_tokenizer
from containers.testing.templates import CHATML, STRICT, TOOL_USE
from containers.testing.tiny_model import tiny_model

__all__ = [
    "CHATML",
    "STRICT",
    "TOOL_USE",
    "FakeEngine",
    "FakeServingChat",
    "FakeServingCompletion",
    "FakeServingEmbedding",
    "FakeServingTokenization",
    "Mode",
    "RecordedRequest",
    "RecordingEngine",
    "ReplayEngine",
    "RequestState",
    "Script",
    "Token",
    "fake_container",
    "override",
    "slow_tokenizer",
    "tiny_model",
]
