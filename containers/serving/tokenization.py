"""Tokenize and detokenize: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import ServingTokenization as VllmServingTokenization


class ServingTokenization(VllmServingTokenization):
    """vLLM's ``ServingTokenization``; it needs no engine.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`.

    Source:
        vllm/entrypoints/launchers/api_server/app_state.py (0.32.0).
    """

    def __init__(
        self,
        *,
        models: Any,
        tokenizer: Any,
        chat_template: ChatTemplate,
        online_renderer: Any,
        settings: ChatSettings,
    ) -> None:
        renderer = bound_renderer(
            online_renderer,
            tokenizer=tokenizer,
            chat_template=chat_template,
            owner=type(self).__name__,
        )
        super().__init__(
            models,
            renderer,
            request_logger=request_logger(settings),
            chat_template=chat_template.explicit,
            chat_template_content_format=chat_template.content_format,
            default_chat_template_kwargs=settings.default_chat_template_kwargs,
            trust_request_chat_template=settings.trust_request_chat_template,
        )
        self.tokenizer = tokenizer
