"""Embeddings: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import require_built_around
from containers.serving.options import pooling_options
from containers.settings import ChatSettings
from containers.vllm_api import ServingEmbedding as VllmServingEmbedding
from containers.vllm_api.client import EngineView


class ServingEmbedding(VllmServingEmbedding):
    """vLLM's ``ServingEmbedding``, ready the moment it is constructed.

    Called with a request it answers with a response; in a request of messages the
    injected template makes the prompt. It can be constructed inside a running event
    loop or without one, and never loads anything.

    Args:
        engine: Client of a started engine, or a double; must outlive this object.
        models: vLLM's ``OpenAIServingModels``.
        tokenizer: Loaded tokenizer, the one ``renderer`` was built around.
        chat_template: Loaded chat template; a model without one takes no messages.
        renderer: vLLM's renderer.
        vllm_config: Configuration of the engine.
        settings: The model's chat settings.

    Raises:
        InjectionError: ``tokenizer`` or ``chat_template`` is not loaded, or the
            tokenizer is not the renderer's.

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
