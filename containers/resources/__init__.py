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
    serving_completion,
    serving_tokenization,
)
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
    "serving_completion",
    "serving_tokenization",
    "tokenizer",
    "vllm_config",
]
