"""Scores from the next token's probabilities: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import ServingGenerativeScoring as VllmServingGenerativeScoring
from containers.vllm_api.client import EngineView


class ServingGenerativeScoring(VllmServingGenerativeScoring):
    """vLLM's ``ServingGenerativeScoring``, ready the moment it is constructed.

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
            request_logger=request_logger(settings),
        )
        self.tokenizer = tokenizer
