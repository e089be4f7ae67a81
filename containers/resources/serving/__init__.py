"""The serving objects: what routes call. One module a family of tasks.

Each builder gives ``None`` where the model cannot do what its object is for.
"""

from containers.resources.serving.generate import (
    serving_chat,
    serving_chat_batch,
    serving_completion,
    serving_messages,
    serving_responses,
    tool_server,
)
from containers.resources.serving.tokenization import serving_tokenization

__all__ = [
    "serving_chat",
    "serving_chat_batch",
    "serving_completion",
    "serving_messages",
    "serving_responses",
    "serving_tokenization",
    "tool_server",
]
