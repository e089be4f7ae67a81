"""The serving object of Cohere's Chat API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from containers.graph import Expected

if TYPE_CHECKING:
    from containers.serving.chat_v2 import ServingChatV2
else:
    # Its class imports vLLM; a double is known by what it can do.
    ServingChatV2 = Any

LoadedServingChatV2 = Annotated[
    ServingChatV2 | None, Expected("a ServingChatV2", has=("create_chat_v2",))
]


def serving_chat_v2(
    *, supported_tasks: Sequence[str], **injected: Any
) -> LoadedServingChatV2:
    """Build the serving object of Cohere's Chat API, where it is enabled.

    Source:
        vllm/entrypoints/generate/api_router.py ``init_generate_state`` (0.32.0).
    """
    from containers.vllm_api.cohere import is_cohere_enabled

    if "generate" not in supported_tasks or not is_cohere_enabled():
        return None
    from containers.serving.chat_v2 import ServingChatV2

    return ServingChatV2(**injected)
