"""OpenAI's Responses API: vLLM's serving object, injected."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint
from containers.serving.options import conversation_options
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingResponses
from containers.vllm_api.client import EngineView


class ServingResponses(OpenAIServingResponses):
    """vLLM's ``OpenAIServingResponses``, ready the moment it is constructed.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`, and:

    Args:
        tool_server: vLLM's tool server, or ``None`` for none.

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
        tool_server: Any = None,
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
            renderer,
            tool_server=tool_server,
            enable_log_outputs=settings.enable_log_outputs,
            enable_per_request_metrics=settings.enable_per_request_metrics,
            **conversation_options(settings, chat_template, of=OpenAIServingResponses),
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)

    def holds(self, response_id: str) -> bool:
        """Whether it has stored the response with this id."""
        return response_id in self.response_store

    async def retrieve_responses(
        self,
        response_id: str,
        starting_after: int | None = None,
        stream: bool | None = False,  # noqa: FBT001, FBT002  # the signature is vLLM's
    ) -> Any:
        """Give a stored response, or its events if it was streamed in the background.

        Unlike vLLM's, it refuses to stream what has no events, before the answer has
        begun.
        """
        if stream and self.holds(response_id) and response_id not in self.event_store:
            return self.create_error_response(
                err_type="invalid_request_error",
                message="Only a response with `background` and `stream` has events.",
                param="stream",
            )
        return await super().retrieve_responses(response_id, starting_after, stream)

    async def responses_background_stream_generator(
        self, response_id: str, starting_after: int | None = None
    ) -> AsyncGenerator[Any, None]:
        """Give the events of a stored response as they come.

        Unlike vLLM's, it ends with a response that fails or is cancelled.

        Args:
            response_id: Id of a response that has events.
            starting_after: Number of the last event not to give.
        """
        events, news = self.event_store[response_id]
        place = max(0, -1 if starting_after is None else starting_after + 1)
        is_over = False
        while not is_over:
            news.clear()
            task = self.background_tasks.get(response_id)
            is_over = task is None or task.done()
            for event in list(events)[place:]:
                yield event
                place += 1
                is_over = is_over or event.type == "response.completed"
            if not is_over:
                await news.wait()
