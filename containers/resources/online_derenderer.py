"""The online derenderer: token ids to answers."""

from __future__ import annotations

from typing import Annotated, Any

from containers.chat_template import ChatTemplate
from containers.graph import Expected
from containers.resources.parsers import known_parsers
from containers.settings import ChatSettings

BuiltOnlineDerenderer = Annotated[
    Any, Expected("an OnlineDerenderer", has=("derender_chat", "derender_completion"))
]


def online_derenderer(
    *,
    settings: ChatSettings,
    vllm_config: Any,
    renderer: Any,
    chat_template: ChatTemplate,
) -> BuiltOnlineDerenderer:
    """Build vLLM's ``OnlineDerenderer``, which turns token ids into answers.

    Args:
        settings: The model's chat settings.
        vllm_config: Configuration of the engine.
        renderer: The injected renderer.
        chat_template: Loaded chat template.

    Raises:
        InjectionError: ``chat_template`` is not loaded.
        SettingsError: vLLM knows no tool or reasoning parser of the configured name.

    Source:
        vllm/entrypoints/launchers/api_server/app_state.py (0.32.0).
    """
    from containers import vllm_api
    from containers.serving.injected import require_chat_template
    from containers.serving.options import rendering_options

    require_chat_template(chat_template, owner="online_derenderer")
    with known_parsers(settings):
        return vllm_api.OnlineDerenderer(
            vllm_config.model_config,
            renderer,
            **rendering_options(settings, chat_template, of=vllm_api.OnlineDerenderer),
        )
