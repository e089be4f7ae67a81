"""Speech to English text: vLLM's serving object around an injected tokenizer."""

from __future__ import annotations

from typing import Any

from containers.serving.injected import request_logger, require_renderer_of
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingTranslation
from containers.vllm_api.client import EngineView
from containers.vllm_api.speech import SpeechServing


class ServingTranslation(OpenAIServingTranslation, SpeechServing):
    """vLLM's ``OpenAIServingTranslation``, ready the moment it is constructed.

    It loads no tokenizer of its own, as vLLM's does. Its threads end with
    ``shutdown()``.

    Args:
        engine: Client of a started engine, or a double; must outlive this object.
        models: vLLM's ``OpenAIServingModels``.
        tokenizer: Loaded tokenizer, the one ``renderer`` was built around.
        renderer: vLLM's renderer.
        vllm_config: Configuration of the engine.
        settings: The model's chat settings.

    Raises:
        InjectionError: ``tokenizer`` is not loaded, or is not the renderer's.

    Source:
        vllm/entrypoints/speech_to_text/factories.py (0.32.0).
    """

    def __init__(
        self,
        *,
        engine: Any,
        models: Any,
        tokenizer: Any,
        renderer: Any,
        vllm_config: Any,
        settings: ChatSettings,
    ) -> None:
        require_renderer_of(renderer, tokenizer=tokenizer, owner=type(self).__name__)
        super().__init__(
            EngineView(engine, renderer=renderer, vllm_config=vllm_config),
            models,
            request_logger=request_logger(settings),
            enable_force_include_usage=settings.enable_force_include_usage,
        )
        self.tokenizer = tokenizer
