"""Checks and options that every serving constructor shares."""

from __future__ import annotations

import inspect
from copy import copy
from typing import Any

from containers import vllm_api
from containers.chat_template import ChatTemplate
from containers.errors import InjectionError
from containers.settings import ChatSettings
from containers.vllm_api.renderer import tokenizer_of
from containers.vllm_api.tokenizer import TOKENIZER_METHODS

NOT_LOADED_HINT = (
    "Build it first and pass the loaded object: the container does, or await it."
)


def require_tokenizer(tokenizer: Any, *, owner: str) -> None:
    """Refuse a tokenizer that is missing, still loading, or no tokenizer.

    Raises:
        InjectionError: It is ``None``, something to await, or lacks a method every
            tokenizer of vLLM's has.
    """
    missing = [name for name in TOKENIZER_METHODS if not hasattr(tokenizer, name)]
    if missing or inspect.isclass(tokenizer):
        raise InjectionError(
            owner=owner,
            argument="tokenizer",
            expected="a loaded tokenizer",
            found=_described(tokenizer),
            hint=NOT_LOADED_HINT,
        )


def require_chat_template(chat_template: Any, *, owner: str) -> None:
    """Refuse a chat template that is missing, still loading, or a bare string.

    Raises:
        InjectionError: It is not a :class:`~containers.chat_template.ChatTemplate`.
    """
    if isinstance(chat_template, ChatTemplate):
        return
    hint = NOT_LOADED_HINT
    if isinstance(chat_template, str):
        hint = "Wrap the Jinja text: ChatTemplate.literal(text)."
    raise InjectionError(
        owner=owner,
        argument="chat_template",
        expected="a loaded ChatTemplate",
        found=_described(chat_template),
        hint=hint,
    )


def require_built_around(
    renderer: Any, *, tokenizer: Any, chat_template: Any, owner: str
) -> None:
    """Refuse a renderer that tokenizes with another tokenizer than the injected one.

    Raises:
        InjectionError: Tokenizer or template is not loaded, or the renderer was built
            around another tokenizer, so that prompts would not be this one's.
    """
    require_chat_template(chat_template, owner=owner)
    require_renderer_of(renderer, tokenizer=tokenizer, owner=owner)


def require_renderer_of(renderer: Any, *, tokenizer: Any, owner: str) -> None:
    """Refuse a renderer that was built around another tokenizer.

    Raises:
        InjectionError: The tokenizer is not loaded, or not the renderer's.
    """
    require_tokenizer(tokenizer, owner=owner)
    if tokenizer_of(renderer) is not tokenizer:
        raise InjectionError(
            owner=owner,
            argument="tokenizer",
            expected="the tokenizer its renderer was built around",
            found="another one",
            hint="Build the renderer with build_renderer(vllm_config, tokenizer).",
        )


def bound_renderer(
    online_renderer: Any, *, tokenizer: Any, chat_template: Any, owner: str
) -> Any:
    """Online renderer that templates with these two and nothing else.

    Args:
        online_renderer: vLLM's ``OnlineRenderer``; it is not changed.
        tokenizer: The injected tokenizer, which the renderer must be built around.
        chat_template: The injected template; it wins over the renderer's own.
        owner: Class being constructed, for the error.

    Raises:
        InjectionError: One of the two is not loaded, or the renderer was built around
            another tokenizer, so that prompts would not be this one's.
    """
    require_built_around(
        online_renderer.renderer,
        tokenizer=tokenizer,
        chat_template=chat_template,
        owner=owner,
    )
    bound = copy(online_renderer)
    bound.chat_template = chat_template.explicit
    bound.chat_template_content_format = chat_template.content_format
    return bound


def request_logger(settings: ChatSettings) -> Any:
    """vLLM's request logger, or ``None`` unless requests shall be logged."""
    if not settings.enable_log_requests:
        return None
    return vllm_api.RequestLogger(max_log_len=settings.max_log_len)


def fingerprint(settings: ChatSettings, vllm_config: Any) -> str | None:
    """What answers show as ``system_fingerprint``.

    Source:
        vllm/entrypoints/serve/utils/fingerprint.py (0.32.0), whose mode is one for the
        whole process; ours is the model's.
    """
    text: str | None = vllm_api.build_system_fingerprint(
        vllm_config, settings.fingerprint_mode, settings.fingerprint_value
    )
    return text


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if inspect.iscoroutine(value):
        value.close()
        return "a coroutine, which nobody awaited"
    if inspect.isawaitable(value):
        return f"{type(value).__name__}, which is still to be awaited"
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    return f"{type(value).__name__}"
