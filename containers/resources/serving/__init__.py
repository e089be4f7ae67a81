"""The serving objects: what routes call. One module a family of tasks.

Each builder gives ``None`` where the model cannot do what its object is for.
"""

from containers.resources.serving.chat_v2 import serving_chat_v2
from containers.resources.serving.decisions import (
    serving_generative_scoring,
    serving_structured_decisions,
)
from containers.resources.serving.generate import (
    serving_chat,
    serving_chat_batch,
    serving_completion,
    serving_messages,
    serving_responses,
    tool_server,
)
from containers.resources.serving.pooling import (
    serving_classification,
    serving_embedding,
    serving_pooling,
    serving_scores,
)
from containers.resources.serving.scale_out import (
    serving_derender,
    serving_render,
    serving_tokens,
)
from containers.resources.serving.speech import (
    serving_realtime,
    serving_transcription,
    serving_translation,
)
from containers.resources.serving.tokenization import serving_tokenization

__all__ = [
    "serving_chat",
    "serving_chat_batch",
    "serving_chat_v2",
    "serving_classification",
    "serving_completion",
    "serving_derender",
    "serving_embedding",
    "serving_generative_scoring",
    "serving_messages",
    "serving_pooling",
    "serving_realtime",
    "serving_render",
    "serving_responses",
    "serving_scores",
    "serving_structured_decisions",
    "serving_tokenization",
    "serving_tokens",
    "serving_transcription",
    "serving_translation",
    "tool_server",
]
