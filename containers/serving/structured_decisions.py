"""Questions with few answers, read from one token: vLLM's serving object, injected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers import vllm_api
from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import (
    ServingStructuredDecisions as VllmServingStructuredDecisions,
)
from containers.vllm_api.client import EngineView


class ServingStructuredDecisions(VllmServingStructuredDecisions):
    """vLLM's ``ServingStructuredDecisions``, ready the moment it is constructed.

    Unlike vLLM's, it too refuses a template that a request brings unasked.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`, and:

    Args:
        supported_tasks: What the model can do.

    Raises:
        ValueError: The model is none of those that vLLM can read decisions from.

    Source:
        vllm/entrypoints/generate/structured_decisions/api_router.py (0.32.0).
    """

    def __init__(
        self,
        *,
        supported_tasks: Sequence[str],
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
        strategy = vllm_api.select_read_strategy(
            vllm_config.model_config, tuple(supported_tasks)
        )
        context = vllm_api.ReadContext(
            engine_client=EngineView(
                engine, renderer=renderer.renderer, vllm_config=vllm_config
            ),
            online_renderer=renderer,
            chat_template=chat_template.explicit,
            chat_template_content_format=chat_template.content_format,
            default_chat_template_kwargs=settings.default_chat_template_kwargs or {},
        )
        super().__init__(
            models, strategy(context), request_logger=request_logger(settings)
        )
        self.tokenizer = tokenizer

    async def create_decision(self, request: Any, raw_request: Any = None) -> Any:
        """Answer the request's questions, unless it brings an untrusted template."""
        renderer = self.strategy.context.online_renderer
        refusal = renderer.validate_chat_template(
            request_chat_template=None,
            chat_template_kwargs=request.chat_template_kwargs,
            trust_request_chat_template=renderer.trust_request_chat_template,
        )
        if refusal is not None:
            return refusal
        return await super().create_decision(request, raw_request)
