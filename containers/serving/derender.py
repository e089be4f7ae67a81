"""Token ids made into answers and nothing more: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers import vllm_api
from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import ServingDerender as VllmServingDerender


class ServingDerender(VllmServingDerender):
    """vLLM's ``ServingDerender``; it needs no engine.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`, and:

    Args:
        online_derenderer: vLLM's ``OnlineDerenderer``, whose renderer was built around
            the tokenizer.

    Source:
        vllm/entrypoints/scale_out/factories.py ``init_render_state`` (0.32.0).
    """

    def __init__(
        self,
        *,
        models: Any,
        tokenizer: Any,
        chat_template: ChatTemplate,
        online_derenderer: Any,
        settings: ChatSettings,
    ) -> None:
        derenderer = bound_renderer(
            online_derenderer,
            tokenizer=tokenizer,
            chat_template=chat_template,
            owner=type(self).__name__,
        )
        super().__init__(models, derenderer, request_logger=request_logger(settings))
        self.tokenizer = tokenizer

    async def derender_chat(self, request: Any) -> Any:
        """Derender a whole chat answer, or one piece of a streamed one.

        Args:
            request: vLLM's ``DerenderChatRequest`` or ``DerenderChatStreamRequest``.
        """
        if not request.stream:
            return await self.derender_chat_response(request)
        result = await self.derender_chat_stream_response(request)
        return _piece(result, vllm_api.DerenderChatStreamResponse)

    async def derender_completion(self, request: Any) -> Any:
        """Derender a whole completion, or one piece of a streamed one.

        Args:
            request: vLLM's ``DerenderCompletionRequest`` or
                ``DerenderCompletionStreamRequest``.
        """
        if not request.stream:
            return await self.derender_completion_response(request)
        result = await self.derender_completion_stream_response(request)
        return _piece(result, vllm_api.DerenderCompletionStreamResponse)


def _piece(result: Any, response: Any) -> Any:
    """The response of a piece and the state the client brings back, or the error."""
    if isinstance(result, vllm_api.ErrorResponse):
        return result
    chunk, stream_state = result
    return response(chunk=chunk, stream_state=stream_state)
