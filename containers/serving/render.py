"""Requests rendered to token ids and nothing more: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any, NamedTuple

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.settings import ChatSettings
from containers.vllm_api import ServingRender as VllmServingRender


class Untried(NamedTuple):
    """A renderer whose template vLLM's constructor cannot try out."""

    model_config: Any
    renderer: None = None
    chat_template: None = None


class ServingRender(VllmServingRender):
    """vLLM's ``ServingRender``; it needs no engine.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`, and:

    Args:
        tool_server: vLLM's tool server, or ``None`` for none.

    Source:
        vllm/entrypoints/scale_out/factories.py ``init_render_state`` (0.32.0).
    """

    def __init__(
        self,
        *,
        models: Any,
        tokenizer: Any,
        chat_template: ChatTemplate,
        online_renderer: Any,
        settings: ChatSettings,
        tool_server: Any = None,
    ) -> None:
        renderer = bound_renderer(
            online_renderer,
            tokenizer=tokenizer,
            chat_template=chat_template,
            owner=type(self).__name__,
        )
        options = {
            "request_logger": request_logger(settings),
            "tool_server": tool_server,
            "disabled_thinking_effort": settings.anthropic_disabled_thinking_effort,
        }
        try:
            super().__init__(models, renderer, **options)
        except Exception:  # noqa: BLE001  # as in ServingMessages, which tells why
            super().__init__(models, Untried(renderer.model_config), **options)
            self.online_renderer = renderer
        self.tokenizer = tokenizer
