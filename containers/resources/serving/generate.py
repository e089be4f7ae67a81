"""The serving objects of models that generate text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected
from containers.settings import ChatSettings

if TYPE_CHECKING:
    from containers.serving.chat import ServingChat
    from containers.serving.chat_batch import ServingChatBatch
    from containers.serving.completion import ServingCompletion
    from containers.serving.messages import ServingMessages
    from containers.serving.responses import ServingResponses
else:
    # Their classes import vLLM; a double is known by what it can do.
    ServingChat = ServingChatBatch = ServingCompletion = Any
    ServingMessages = ServingResponses = Any

LoadedServingChat = Annotated[
    ServingChat | None, Expected("a ServingChat", has=("create_chat_completion",))
]
LoadedServingChatBatch = Annotated[
    ServingChatBatch | None,
    Expected("a ServingChatBatch", has=("create_batch_chat_completion",)),
]
LoadedServingCompletion = Annotated[
    ServingCompletion | None,
    Expected("a ServingCompletion", has=("create_completion",)),
]
LoadedServingResponses = Annotated[
    ServingResponses | None,
    Expected("a ServingResponses", has=("create_responses", "retrieve_responses")),
]
LoadedServingMessages = Annotated[
    ServingMessages | None,
    Expected("a ServingMessages", has=("create_messages", "count_tokens")),
]

Connected = Annotated[Any, Expected("a tool server", has=("has_tool", "new_session"))]

Tasks = Sequence[str]


async def tool_server(*, settings: ChatSettings, supported_tasks: Tasks) -> Connected:
    """Connect to the tool servers that responses may use.

    Args:
        settings: The model's chat settings.
        supported_tasks: What the model can do.

    Returns:
        vLLM's tool server, or ``None`` when none is configured.

    Raises:
        SettingsError: A tool server cannot be reached.

    Source:
        vllm/entrypoints/mcp/tool_server.py ``init_tool_server`` (0.32.0).
    """
    from containers.vllm_api.tool_server import connect

    if settings.tool_server is None or "generate" not in supported_tasks:
        return None
    return await connect(settings.tool_server)


def serving_chat(*, supported_tasks: Tasks, **injected: Any) -> LoadedServingChat:
    """Build the chat serving object; see its class for the arguments."""
    from containers.serving.chat import ServingChat

    return ServingChat(**injected) if "generate" in supported_tasks else None


def serving_chat_batch(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingChatBatch:
    """Build the serving object of several chats in one request."""
    from containers.serving.chat_batch import ServingChatBatch

    return ServingChatBatch(**injected) if "generate" in supported_tasks else None


def serving_completion(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingCompletion:
    """Build the completion serving object; see its class for the arguments."""
    from containers.serving.completion import ServingCompletion

    return ServingCompletion(**injected) if "generate" in supported_tasks else None


def serving_responses(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingResponses:
    """Build the serving object of OpenAI's Responses API."""
    from containers.serving.responses import ServingResponses

    return ServingResponses(**injected) if "generate" in supported_tasks else None


def serving_messages(
    *, supported_tasks: Tasks, **injected: Any
) -> LoadedServingMessages:
    """Build the serving object of Anthropic's Messages API."""
    from containers.serving.messages import ServingMessages

    return ServingMessages(**injected) if "generate" in supported_tasks else None
