"""How each provider of the graph is built: one builder a provider, of the same name.

A ``def`` builder blocks and is run in a thread, an ``async def`` builder runs on the
event loop; what follows a ``yield`` closes the resource. Builders import vLLM inside,
so importing this package stays light.
"""

from containers.resources.chat_template import chat_template
from containers.resources.engine import engine
from containers.resources.engine_core import engine_core
from containers.resources.engine_processes import engine_processes
from containers.resources.model import model
from containers.resources.models import models
from containers.resources.online_derenderer import online_derenderer
from containers.resources.online_renderer import online_renderer
from containers.resources.renderer import renderer
from containers.resources.serving import (
    serving_chat,
    serving_chat_batch,
    serving_chat_v2,
    serving_classification,
    serving_completion,
    serving_derender,
    serving_embedding,
    serving_generative_scoring,
    serving_messages,
    serving_pooling,
    serving_realtime,
    serving_render,
    serving_responses,
    serving_scores,
    serving_structured_decisions,
    serving_tokenization,
    serving_tokens,
    serving_transcription,
    serving_translation,
    tool_server,
)
from containers.resources.supported_tasks import supported_tasks
from containers.resources.tokenizer import tokenizer
from containers.resources.vllm_config import vllm_config

__all__ = [
    "chat_template",
    "engine",
    "engine_core",
    "engine_processes",
    "model",
    "models",
    "online_derenderer",
    "online_renderer",
    "renderer",
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
    "supported_tasks",
    "tokenizer",
    "tool_server",
    "vllm_config",
]
