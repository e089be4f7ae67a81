"""What several of vLLM's objects are told in the same words."""

from __future__ import annotations

from typing import Any

from containers import vllm_api
from containers.chat_template import ChatTemplate
from containers.serving.injected import request_logger
from containers.settings import ChatSettings
from containers.vllm_api.front_end import taken_by


def passed_on(settings: ChatSettings, *, of: type[Any]) -> dict[str, Any]:
    """Those of ``chat.frontend`` that the constructor of vLLM's class takes."""
    own = taken_by(of, settings.frontend)
    return {name: settings.frontend[name] for name in own}


def rendering_options(
    settings: ChatSettings, chat_template: ChatTemplate, *, of: type[Any]
) -> dict[str, Any]:
    """How requests become prompts: of the online renderer and the online derenderer.

    Args:
        settings: The model's chat settings.
        chat_template: Loaded chat template.
        of: vLLM's class that is built, which also takes those of ``chat.frontend``
            that are its own.

    Source:
        vllm/entrypoints/launchers/api_server/app_state.py (0.32.0).
    """
    return {
        **passed_on(settings, of=of),
        "request_logger": request_logger(settings),
        "chat_template": chat_template.explicit,
        "chat_template_content_format": chat_template.content_format,
        "trust_request_chat_template": settings.trust_request_chat_template,
        "enable_auto_tools": settings.enable_auto_tool_choice,
        "exclude_tools_when_tool_choice_none": (
            settings.exclude_tools_when_tool_choice_none
        ),
        "tool_parser": settings.tool_call_parser,
        "tool_strict_level": settings.tool_strict_level,
        "reasoning_parser": settings.reasoning_parser,
        "default_chat_template_kwargs": settings.default_chat_template_kwargs,
        "log_error_stack": settings.log_error_stack,
    }


def conversation_options(
    settings: ChatSettings, chat_template: ChatTemplate, *, of: type[Any]
) -> dict[str, Any]:
    """How conversations are answered: of chat, responses, messages and their kin.

    Args:
        settings: The model's chat settings.
        chat_template: Loaded chat template.
        of: vLLM's class that is built, which also takes those of ``chat.frontend``
            that are its own.

    Source:
        vllm/entrypoints/generate/api_router.py ``init_generate_state`` (0.32.0).
    """
    return {
        **passed_on(settings, of=of),
        "request_logger": request_logger(settings),
        "chat_template": chat_template.explicit,
        "chat_template_content_format": chat_template.content_format,
        "return_tokens_as_token_ids": settings.return_tokens_as_token_ids,
        "reasoning_parser": settings.reasoning_parser or "",
        "enable_auto_tools": settings.enable_auto_tool_choice,
        "tool_parser": settings.tool_call_parser,
        "tool_strict_level": settings.tool_strict_level,
        "enable_prompt_tokens_details": settings.enable_prompt_tokens_details,
        "enable_force_include_usage": settings.enable_force_include_usage,
        "default_chat_template_kwargs": settings.default_chat_template_kwargs,
    }


def pooling_options(
    settings: ChatSettings, chat_template: ChatTemplate
) -> dict[str, Any]:
    """How prompts are pooled: of embeddings, classes, scores and plain pooling.

    Source:
        vllm/entrypoints/pooling/factories.py ``init_pooling_state`` (0.32.0).
    """
    return {
        "request_logger": request_logger(settings),
        "chat_template_config": vllm_api.ChatTemplateConfig(
            chat_template=chat_template.explicit,
            chat_template_content_format=chat_template.content_format,
            trust_request_chat_template=settings.trust_request_chat_template,
            trust_request_mm_kwargs=settings.trust_request_mm_kwargs,
        ),
    }
