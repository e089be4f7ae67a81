"""Scores and reranking: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import require_built_around
from containers.serving.options import pooling_options
from containers.settings import ChatSettings
from containers.vllm_api import ServingScores as VllmServingScores
from containers.vllm_api.client import EngineView


class ServingScores(VllmServingScores):
    """vLLM's ``ServingScores``, ready the moment it is constructed.

    Args and errors are those of
    :class:`containers.serving.embedding.ServingEmbedding`, and:

    Args:
        supported_tasks: What the model can do, in vLLM's words.

    Source:
        vllm/entrypoints/pooling/factories.py ``init_pooling_state`` (0.32.0).
    """

    def __init__(
        self,
        *,
        engine: Any,
        models: Any,
        tokenizer: Any,
        chat_template: ChatTemplate,
        renderer: Any,
        vllm_config: Any,
        settings: ChatSettings,
        supported_tasks: Sequence[str],
    ) -> None:
        require_built_around(
            renderer,
            tokenizer=tokenizer,
            chat_template=chat_template,
            owner=type(self).__name__,
        )
        super().__init__(
            EngineView(engine, renderer=renderer, vllm_config=vllm_config),
            models,
            supported_tasks=tuple(supported_tasks),
            enable_flash_late_interaction=settings.enable_flash_late_interaction,
            **pooling_options(settings, chat_template),
        )
        self.tokenizer = tokenizer
