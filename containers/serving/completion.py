"""Completions: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingCompletion
from containers.vllm_api.client import EngineView
from containers.vllm_api.splicing import (
    Generate,
    is_plain_completion,
    spliced_completion_stream,
)


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
        fast_streams: bool = True,
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
        self._fast_streams = fast_streams

    def completion_stream_generator(
        self,
        request: Any,
        engine_inputs: Sequence[Any],
        result_generator: AsyncGenerator[tuple[int, Any], None],
        *args: Any,
        **kw: Any,
    ) -> AsyncGenerator[str, None]:
        """Stream vLLM's events, at a fraction of their cost where they are plain."""
        stock: Generate = super().completion_stream_generator
        n_prompts = len(engine_inputs)
        if not self._fast_streams or not is_plain_completion(self, request, n_prompts):
            return stock(request, engine_inputs, result_generator, *args, **kw)
        return spliced_completion_stream(
            lambda results: stock(request, engine_inputs, results, *args, **kw),
            result_generator,
        )
