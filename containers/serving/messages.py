"""Anthropic's Messages API: vLLM's serving object, injected."""

from __future__ import annotations

from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint
from containers.serving.options import conversation_options
from containers.settings import ChatSettings
from containers.vllm_api import AnthropicServingMessages
from containers.vllm_api.client import EngineView


class ServingMessages(AnthropicServingMessages):
    """vLLM's ``AnthropicServingMessages``, ready the moment it is constructed.

    Args and errors are those of :class:`containers.serving.chat.ServingChat`.

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
            settings.response_role,
            online_renderer=renderer,
            enable_log_outputs=settings.enable_log_outputs,
            enable_log_deltas=settings.enable_log_deltas,
            disabled_thinking_effort=settings.anthropic_disabled_thinking_effort,
            **conversation_options(
                settings, chat_template, of=AnthropicServingMessages
            ),
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)

    @staticmethod
    def _detect_merge_inline_system(chat_template: str | None) -> bool:
        """Try a second system message, as vLLM does, with any template.

        vLLM expects Jinja's own errors alone. A template that adds up what cannot be
        added raises a ``TypeError``, which must not keep the model from starting.
        """
        try:
            return bool(
                AnthropicServingMessages._detect_merge_inline_system(chat_template)  # noqa: SLF001  # overridden here
            )
        except Exception:  # noqa: BLE001  # whatever Jinja lets a template do
            return True
