"""The serving objects: what routes call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from containers.serving.chat import ServingChat
    from containers.serving.completion import ServingCompletion
    from containers.serving.tokenization import ServingTokenization


def serving_chat(**injected: Any) -> ServingChat:
    """Build the chat serving object; see its class for the arguments."""
    from containers.serving.chat import ServingChat

    return ServingChat(**injected)


def serving_completion(**injected: Any) -> ServingCompletion:
    """Build the completion serving object; see its class for the arguments."""
    from containers.serving.completion import ServingCompletion

    return ServingCompletion(**injected)


def serving_tokenization(**injected: Any) -> ServingTokenization:
    """Build the tokenization serving object; see its class for the arguments."""
    from containers.serving.tokenization import ServingTokenization

    return ServingTokenization(**injected)
