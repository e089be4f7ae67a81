"""The online renderer: requests to prompts."""

from __future__ import annotations

from typing import Annotated, Any

from containers.chat_template import ChatTemplate
from containers.graph import Expected
from containers.resources.parsers import known_parsers
from containers.settings import ChatSettings

BuiltOnlineRenderer = Annotated[
    Any, Expected("an OnlineRenderer", has=("render_chat", "render_completion"))
]


def online_renderer(
    *,
    settings: ChatSettings,
    vllm_config: Any,
    renderer: Any,
    chat_template: ChatTemplate,
) -> BuiltOnlineRenderer:
    """Build vLLM's ``OnlineRenderer``, which turns requests into prompts.

    Args:
        settings: The model's chat settings.
        vllm_config: Configuration of the engine.
        renderer: The injected renderer.
        chat_template: Loaded chat template.

    Returns:
        The online renderer, warmed up: the first request compiles no template.

    Raises:
        InjectionError: ``chat_template`` is not loaded.
        SettingsError: vLLM knows no tool or reasoning parser of the configured name.

    Source:
        vllm/entrypoints/launchers/api_server/app_state.py (0.32.0).
    """
    from containers import vllm_api
    from containers.serving.injected import require_chat_template
    from containers.serving.options import rendering_options
    from containers.vllm_api.short_prompts import trust_template

    require_chat_template(chat_template, owner="online_renderer")
    with known_parsers(settings):
        built = vllm_api.OnlineRenderer(
            vllm_config.model_config,
            renderer,
            trust_request_mm_kwargs=settings.trust_request_mm_kwargs,
            **rendering_options(settings, chat_template, of=vllm_api.OnlineRenderer),
        )
    trust_template(renderer, chat_template.explicit)
    built.warmup()
    return built
