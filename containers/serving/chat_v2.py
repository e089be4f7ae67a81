"""Cohere's Chat API: vLLM's serving object, injected.

Importing this module needs Cohere's package.
"""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint
from containers.serving.options import conversation_options
from containers.settings import ChatSettings
from containers.vllm_api import CohereServingChatV2
from containers.vllm_api.client import EngineView


class ServingChatV2(CohereServingChatV2):
    """vLLM's ``CohereServingChatV2``, ready the moment it is constructed.

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
            enable_log_outputs=settings.enable_log_outputs,
            enable_log_deltas=settings.enable_log_deltas,
            is_reasoning_model=settings.cohere_is_reasoning_model,
            **conversation_options(settings, chat_template, of=CohereServingChatV2),
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)

    async def render_chat_v2(self, request: Any, serving_render: Any) -> Any:
        """Render a request to token ids, as this object would ask the engine.

        Args:
            request: vLLM's ``CohereChatV2Request``.
            serving_render: The model's ``ServingRender``.
        """
        rendered = await serving_render.render_chat_request(
            self.to_chat_completion_request(request)
        )
        parsing = getattr(rendered, "reasoning_parser_kwargs", None)
        if parsing is not None:
            parsing.chat_template_kwargs = self._engine_chat_template_kwargs(
                parsing.chat_template_kwargs
            )
        return rendered
