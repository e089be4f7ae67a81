"""Speech to text while it is spoken: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers.serving.injected import request_logger, require_renderer_of
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingRealtime, RealtimeConnection
from containers.vllm_api.client import EngineView


class ServingRealtime(OpenAIServingRealtime):
    """vLLM's ``OpenAIServingRealtime``, ready the moment it is constructed.

    Args and errors are those of
    :class:`containers.serving.transcription.ServingTranscription`.

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
        )
        self.tokenizer = tokenizer

    def connect(self, websocket: Any) -> Any:
        """vLLM's ``RealtimeConnection`` of a client, which is not accepted yet."""
        return RealtimeConnection(websocket, self)
