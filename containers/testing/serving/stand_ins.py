"""Request models for where vLLM is not installed.

They take any field and check next to nothing, so they show what a route asks for, not
whether vLLM would accept it.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from containers import vllm_api


class Request(BaseModel):
    """Any request: every field it is given is an attribute."""

    model_config = ConfigDict(extra="allow")

    model: str | None = None


class ChatCompletionRequest(Request):
    """Stands in for vLLM's request of the same name."""

    messages: list[Any]
    n: int | None = 1
    stream: bool | None = False


class CompletionRequest(Request):
    """Stands in for vLLM's request of the same name."""

    prompt: Any = None
    n: int = 1
    stream: bool | None = False


class TokenizeCompletionRequest(Request):
    """Stands in for vLLM's request of the same name."""

    prompt: str


class TokenizeChatRequest(Request):
    """Stands in for vLLM's request of the same name."""

    messages: list[Any]


class DetokenizeRequest(Request):
    """Stands in for vLLM's request of the same name."""

    tokens: list[int]


class EmbeddingCompletionRequest(Request):
    """Stands in for vLLM's request of the same name."""

    input: str | list[str] | list[int] | list[list[int]]


class EmbeddingChatRequest(Request):
    """Stands in for vLLM's request of the same name."""

    messages: list[Any]


TokenizeRequest = TokenizeCompletionRequest | TokenizeChatRequest
EmbeddingRequest = EmbeddingCompletionRequest | EmbeddingChatRequest

STAND_INS: dict[str, Any] = {
    "ChatCompletionRequest": ChatCompletionRequest,
    "CompletionRequest": CompletionRequest,
    "TokenizeCompletionRequest": TokenizeCompletionRequest,
    "TokenizeChatRequest": TokenizeChatRequest,
    "TokenizeRequest": TokenizeRequest,
    "DetokenizeRequest": DetokenizeRequest,
    "EmbeddingCompletionRequest": EmbeddingCompletionRequest,
    "EmbeddingChatRequest": EmbeddingChatRequest,
    "EmbeddingRequest": EmbeddingRequest,
}


def provide_requests() -> None:
    """Let ``containers.vllm_api`` have request models when vLLM is not installed."""
    if vllm_api.installed_version() is None:
        vars(vllm_api).update(_of_any_kind() | STAND_INS)


def _of_any_kind() -> dict[str, Any]:
    """A stand-in for each request model that vLLM's servers take."""
    return {
        name: type(name, (Request,), {"__module__": __name__})
        for name, place in vllm_api.NAMES.items()
        if name.endswith("Request") and place.startswith("vllm.entrypoints.")
    }
