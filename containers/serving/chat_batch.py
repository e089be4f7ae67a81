"""Several conversations in one request: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint
from containers.serving.options import conversation_options
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingChatBatch
from containers.vllm_api.client import EngineView


class ServingChatBatch(OpenAIServingChatBatch):
    """vLLM's ``OpenAIServingChatBatch``, ready the moment it is constructed.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`.

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
            settings.response_role,
            online_renderer=renderer,
            trust_request_chat_template=settings.trust_request_chat_template,
            exclude_tools_when_tool_choice_none=(
                settings.exclude_tools_when_tool_choice_none
            ),
            enable_log_outputs=settings.enable_log_outputs,
            enable_log_deltas=settings.enable_log_deltas,
            enable_per_request_metrics=settings.enable_per_request_metrics,
            **conversation_options(settings, chat_template, of=OpenAIServingChatBatch),
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)
