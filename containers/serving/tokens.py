"""Token ids in, token ids out: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import ServingTokens as VllmServingTokens
from containers.vllm_api.client import EngineView


class ServingTokens(VllmServingTokens):
    """vLLM's ``ServingTokens``, ready the moment it is constructed.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`, and:

    Args:
        online_derenderer: vLLM's ``OnlineDerenderer``.

    Source:
        vllm/entrypoints/scale_out/factories.py ``init_scale_out_state`` (0.32.0).
    """

    def __init__(
        self,
        *,
        engine: Any,
        models: Any,
        tokenizer: Any,
        chat_template: ChatTemplate,
        online_renderer: Any,
        online_derenderer: Any,
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
            renderer,
            online_derenderer=online_derenderer,
            request_logger=request_logger(settings),
            return_tokens_as_token_ids=settings.return_tokens_as_token_ids,
            enable_prompt_tokens_details=settings.enable_prompt_tokens_details,
            enable_log_outputs=settings.enable_log_outputs,
        )
        self.tokenizer = tokenizer

    async def abort_requests(self, request_ids: Any) -> None:
        """End generations.

        Args:
            request_ids: Their ids, or one id.
        """
        await self.engine_client.abort(request_ids)
