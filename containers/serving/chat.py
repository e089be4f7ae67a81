"""Chat completions: vLLM's serving object around an injected tokenizer and template."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from containers.chat_template import ChatTemplate
from containers.serving.injected import bound_renderer, fingerprint
from containers.serving.options import conversation_options
from containers.settings import ChatSettings
from containers.vllm_api import OpenAIServingChat
from containers.vllm_api.client import EngineView
from containers.vllm_api.splicing import Generate, is_plain_chat, spliced_chat_stream


class ServingChat(OpenAIServingChat):
    """vLLM's ``OpenAIServingChat``, ready the moment it is constructed.

    It can be constructed and used inside a running event loop or without one, and
    never loads anything: what templates and tokenizes a request is what it was given.

    Args:
        engine: Client of a started engine, or a double; must outlive this object.
        models: vLLM's ``OpenAIServingModels``.
        tokenizer: Loaded tokenizer, the one ``online_renderer`` was built around.
        chat_template: Loaded chat template.
        online_renderer: vLLM's ``OnlineRenderer``.
        vllm_config: Configuration of the engine.
        settings: The model's chat settings.
        fast_streams: Whether plain chunks of streams are spliced rather than each built
            anew; they are the same, byte by byte.

    Raises:
        InjectionError: ``tokenizer`` or ``chat_template`` is not loaded, or the
            tokenizer is not the renderer's.
        KeyError: vLLM knows no tool or reasoning parser of the configured name.

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
        fast_streams: bool = True,
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
            trust_request_chat_template=settings.trust_request_chat_template,
            exclude_tools_when_tool_choice_none=(
                settings.exclude_tools_when_tool_choice_none
            ),
            enable_log_outputs=settings.enable_log_outputs,
            enable_log_deltas=settings.enable_log_deltas,
            enable_per_request_metrics=settings.enable_per_request_metrics,
            **conversation_options(settings, chat_template, of=OpenAIServingChat),
        )
        self.tokenizer = tokenizer
        self.system_fingerprint = fingerprint(settings, vllm_config)
        self._fast_streams = fast_streams

    def chat_completion_stream_generator(
        self,
        request: Any,
        result_generator: AsyncGenerator[Any, None],
        *args: Any,
        **kw: Any,
    ) -> AsyncGenerator[str, None]:
        """Stream vLLM's events, at a fraction of their cost where they are plain."""
        stock: Generate = super().chat_completion_stream_generator
        if not self._fast_streams or not is_plain_chat(self, request):
            return stock(request, result_generator, *args, **kw)
        return spliced_chat_stream(
            lambda results: stock(request, results, *args, **kw), result_generator
        )
