"""How each provider of the graph is built: one builder a provider, of the same name.

A ``def`` builder blocks and is run in a thread, an ``async def`` builder runs on the
event loop; what follows a ``yield`` closes the resource. Builders import vLLM inside,
so importing this package stays light.
"""

from containers.resources.chat_template import chat_template
from containers.resources.engine import engine
from containers.resources.model import model
from containers.resources.models import models
from containers.resources.online_renderer import online_renderer
from containers.resources.renderer import renderer
from containers.resources.serving import (
    serving_chat,
    serving_chat_batch,
    serving_completion,
    serving_messages,
    serving_responses,
    serving_tokenization,
    tool_server,
)
from containers.resources.supported_tasks import supported_tasks
from containers.resources.tokenizer import tokenizer
from containers.resources.vllm_config import vllm_config

__all__ = [
    "chat_template",
    "engine",
    "model",
    "models",
    "online_renderer",
    "renderer",
    "serving_chat",
    "serving_chat_batch",
    "serving_completion",
    "serving_messages",
    "serving_responses",
    "serving_tokenization",
    "supported_tasks",
    "tokenizer",
    "tool_server",
    "vllm_config",
]
