"""Completions: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingCompletion
from containers.vllm_api.client import EngineView


class ServingCompletion(OpenAIServingCompletion):
    """vLLM's ``OpenAIServingCompletion``, ready the moment it is constructed.

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
            online_renderer=renderer,
            request_logger=request_logger(settings),
            return_tokens_as_token_ids=settings.return_tokens_as_token_ids,
            enable_prompt_tokens_details=settings.enable_prompt_tokens_details,
            enable_force_include_usage=settings.enable_force_include_usage,
            enable_per_request_metrics=settings.enable_per_request_metrics,
            enable_log_outputs=settings.enable_log_outputs,
            enable_log_deltas=settings.enable_log_deltas,
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)
