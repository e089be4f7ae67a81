"""Requests rendered to token ids and nothing more: vLLM's serving object, injected."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, request_logger
from containers.serving.messages import ServingMessages
from containers.settings import ChatSettings
from containers.vllm_api import ServingRender as VllmServingRender


def _with_own_probe(init: Any) -> Any:
    """A constructor that tries templates out as :class:`ServingMessages` does."""
    names = {**init.__globals__, "AnthropicServingMessages": ServingMessages}
    made = FunctionType(
        init.__code__, names, init.__name__, init.__defaults__, init.__closure__
    )
    made.__kwdefaults__ = init.__kwdefaults__
    return made


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
        _with_own_probe(VllmServingRender.__init__)(
            self,
            models,
            renderer,
            request_logger=request_logger(settings),
            tool_server=tool_server,
            disabled_thinking_effort=settings.anthropic_disabled_thinking_effort,
        )
        self.tokenizer = tokenizer
