"""The serving objects: what routes call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.chat import ServingChat
    from containers.serving.completion import ServingCompletion
    from containers.serving.tokenization import ServingTokenization
else:
    # Their classes import vLLM; a double is known by what it can do.
    ServingChat = ServingCompletion = ServingTokenization = Any

LoadedServingChat = Annotated[
    ServingChat, Expected("a ServingChat", has=("create_chat_completion",))
]
LoadedServingCompletion = Annotated[
    ServingCompletion, Expected("a ServingCompletion", has=("create_completion",))
]
LoadedServingTokenization = Annotated[
    ServingTokenization,
    Expected("a ServingTokenization", has=("create_tokenize", "create_detokenize")),
]


def serving_chat(**injected: Any) -> LoadedServingChat:
    """Build the chat serving object; see its class for the arguments."""
    from containers.serving.chat import ServingChat

    return ServingChat(**injected)


def serving_completion(**injected: Any) -> LoadedServingCompletion:
    """Build the completion serving object; see its class for the arguments."""
    from containers.serving.completion import ServingCompletion

    return ServingCompletion(**injected)


def serving_tokenization(**injected: Any) -> LoadedServingTokenization:
    """Build the tokenization serving object; see its class for the arguments."""
    from containers.serving.tokenization import ServingTokenization

    return ServingTokenization(**injected)
