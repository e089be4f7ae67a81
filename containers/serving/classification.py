"""Classes of texts: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import require_built_around
from containers.serving.options import pooling_options
from containers.settings import ChatSettings
from containers.vllm_api import ServingClassification as VllmServingClassification
from containers.vllm_api.client import EngineView


class ServingClassification(VllmServingClassification):
    """vLLM's ``ServingClassification``, ready the moment it is constructed.

    Args and errors are those of
    :class:`containers.serving.embedding.ServingEmbedding`.

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
            **pooling_options(settings, chat_template),
        )
        self.tokenizer = tokenizer
