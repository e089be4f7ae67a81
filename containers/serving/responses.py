"""OpenAI's Responses API: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint
from containers.serving.options import conversation_options
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingResponses
from containers.vllm_api.client import EngineView


class ServingResponses(OpenAIServingResponses):
    """vLLM's ``OpenAIServingResponses``, ready the moment it is constructed.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`, and:

    Args:
        tool_server: vLLM's tool server, or ``None`` for none.

    Source:
        vllm/entrypoints/generate/api_router.py ``init_generate_state`` (0.32.0).
    """

    def __init__(
        self,
        *,
        engine: Any,
        models: Any,
        tokenizer: Any,
        chat_template: ChatTemplate,
        online_renderer: Any,
        vllm_config: Any,
        settings: ChatSettings,
        tool_server: Any = None,
    ) -> None:
        renderer = bound_renderer(
            online_renderer,
            tokenizer=tokenizer,
            chat_template=chat_template,
            owner=type(self).__name__,
        )
        super().__init__(
            EngineView(engine, renderer=renderer.renderer, vllm_config=vllm_config),
            models,
            renderer,
            tool_server=tool_server,
            enable_log_outputs=settings.enable_log_outputs,
            enable_per_request_metrics=settings.enable_per_request_metrics,
            **conversation_options(settings, chat_template),
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)
