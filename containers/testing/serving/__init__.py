"""Serving objects that need no vLLM, for testing routes that only use these."""

from containers.testing.serving.chat import FakeServingChat
from containers.testing.serving.completion import FakeServingCompletion
from containers.testing.serving.container import fake_container
from containers.testing.serving.embedding import FakeServingEmbedding
from containers.testing.serving.tokenization import FakeServingTokenization

__all__ = [
    "FakeServingChat",
    "FakeServingCompletion",
    "FakeServingEmbedding",
    "FakeServingTokenization",
    "fake_container",
]
