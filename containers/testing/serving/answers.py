"""Answers in the shape of vLLM's, for where vLLM is not installed.

Source:
    vllm/entrypoints/openai/chat_completion/protocol.py,
    vllm/entrypoints/openai/completion/protocol.py,
    vllm/entrypoints/pooling/embed/protocol.py and
    vllm/entrypoints/serve/tokenize/protocol.py (0.32.0).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class Usage(BaseModel):
    """How many tokens a request took."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int

    @classmethod
    def of(cls, prompt_tokens: int, completion_tokens: int) -> Usage:
        """Count them together."""
        return cls(
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            total_tokens=prompt_tokens + completion_tokens,
        )


class Message(BaseModel):
    """What the assistant says, whole or as a delta."""

    role: str | None = "assistant"
    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[Any] = Field(default_factory=list)


class Choice(BaseModel):
    """One of the ``n`` answers; only what a chat or a completion has is set."""

    index: int
    message: Message | None = None
    delta: Message | None = None
    text: str | None = None
    logprobs: None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None


class Answer(BaseModel):
    """A chat or completion response, or one chunk of either."""

    id: str
    object: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = None

    def event(self) -> str:
        """The chunk as a server-sent event."""
        return f"data: {self.model_dump_json(exclude_none=True)}\n\n"


class Embedding(BaseModel):
    """The vector of one input: numbers, or the base64 of their float32 bytes."""

    index: int
    object: Literal["embedding"] = "embedding"
    embedding: list[float] | str


class Embeddings(BaseModel):
    """An embedding response."""

    id: str
    object: Literal["list"] = "list"
    created: int
    model: str
    data: list[Embedding]
    usage: Usage


class TokenizeAnswer(BaseModel):
    """Tokens of a text."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None


class DetokenizeAnswer(BaseModel):
    """Text of tokens."""

    prompt: str


class ModelCard(BaseModel):
    """One served name."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "vllm"


class ModelCards(BaseModel):
    """All served names."""

    object: Literal["list"] = "list"
    data: list[ModelCard]
