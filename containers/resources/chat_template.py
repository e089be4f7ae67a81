"""The chat template: found, resolved and tried out before anything expensive starts."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from containers.chat_template import ChatTemplate
from containers.errors import ChatTemplateError
from containers.file_version import file_version
from containers.graph import Expected
from containers.settings import ChatSettings

logger = logging.getLogger(__name__)

PROBE = "Is this template in order?"
JINJA_MARKS = ("{{", "{%", "{#", "\n")

LoadedTemplate = Annotated[
    ChatTemplate,
    Expected(
        "a loaded ChatTemplate",
        hint="Wrap Jinja text: ChatTemplate.literal(text).",
    ),
]


def chat_template(
    *, settings: ChatSettings, vllm_config: Any, tokenizer: Any
) -> LoadedTemplate:
    """Load the chat template and render one user turn with it.

    Args:
        settings: The model's chat settings.
        vllm_config: Configuration of the engine.
        tokenizer: Loaded tokenizer; its own template applies when none is configured.

    Returns:
        The loaded template. A model without one gives an object whose ``text`` is
        ``None``: completions and embeddings work, chat requests are answered with
        an error.

    Raises:
        ChatTemplateError: The file is not there, the Jinja does not parse, it cannot
            render a user turn, its content format does not fit, or there is none
            although ``require_chat_template`` is set.
    """
    from containers.serving.injected import require_tokenizer
    from containers.vllm_api.tokenizer import is_hf_tokenizer, skip_processor_lookup

    require_tokenizer(tokenizer, owner="chat_template")
    configured = _configured(settings, tokenizer)
    if not is_hf_tokenizer(tokenizer):
        if configured.explicit:
            return configured
        return replace(configured, origin="the tokenizer, which renders chats itself")
    skip_processor_lookup(tokenizer, vllm_config)
    loaded = _resolved(configured, vllm_config, tokenizer)
    if loaded.text is None:
        _refuse_or_warn(settings, vllm_config)
    else:
        _try_out(loaded, settings, tokenizer)
    return loaded


def _configured(settings: ChatSettings, tokenizer: Any) -> ChatTemplate:
    """What is configured, which is not resolved yet."""
    template, version = settings.template, None
    named = getattr(tokenizer, "chat_template", None)
    if template is None:
        origin = "tokenizer"
    elif isinstance(named, dict) and template in named:
        origin = f"named {template}"
    elif any(mark in template for mark in JINJA_MARKS):
        origin = "literal"
    else:
        origin, version = f"file {template}", file_version(Path(template))
        template = _file_text(Path(template))
    return ChatTemplate(
        explicit=template,
        text=template,
        origin=origin,
        content_format=settings.content_format,
        file_version=version,
    )


def _file_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ChatTemplateError(
            origin=f"file {path}",
            reason=f"cannot be read: {error}",
            hint="Set chat.template to a file, Jinja text, or null.",
        ) from error


def _resolved(
    configured: ChatTemplate, vllm_config: Any, tokenizer: Any
) -> ChatTemplate:
    from containers import vllm_api

    explicit, model_config = configured.explicit, vllm_config.model_config
    text = vllm_api.resolve_chat_template(
        tokenizer, explicit, None, model_config=model_config
    )
    detected: Literal["string", "openai"] = "string"
    if text is not None:
        detected = vllm_api.resolve_chat_template_content_format(
            explicit, None, "auto", tokenizer, model_config=model_config
        )
    return replace(
        configured,
        text=text,
        origin=configured.origin if text is not None else "none",
        detected_format=detected,
    )


def _refuse_or_warn(settings: ChatSettings, vllm_config: Any) -> None:
    hint = "Set chat.template to a file or Jinja text."
    if settings.require_chat_template:
        raise ChatTemplateError(
            origin=f"tokenizer of {vllm_config.model_config.model}",
            reason="the model has none and require_chat_template is set",
            hint=hint,
        )
    if vllm_config.model_config.runner_type == "generate":
        logger.warning(
            "The model has no chat template: chat requests will be refused. %s", hint
        )


def _try_out(template: ChatTemplate, settings: ChatSettings, tokenizer: Any) -> None:
    wanted = template.content_format
    as_parts = (template.detected_format if wanted == "auto" else wanted) == "openai"
    parts = [{"type": "text", "text": PROBE}]
    rendered = _render(template, settings, tokenizer, parts if as_parts else PROBE)
    if PROBE in rendered and str(parts) not in rendered:
        return
    reason = "its output lacks the text of the user's message"
    hint = "Write {{ message['content'] }} for each of the messages."
    if wanted not in ("auto", template.detected_format):
        reason = f"content_format {wanted!r} does not fit: it takes the other one"
        hint = "Set chat.content_format to auto."
    raise ChatTemplateError(origin=template.origin, reason=reason, hint=hint)


def _render(
    template: ChatTemplate, settings: ChatSettings, tokenizer: Any, content: Any
) -> str:
    import jinja2

    try:
        return str(
            tokenizer.apply_chat_template(
                [{"role": "user", "content": content}],
                chat_template=template.explicit,
                tokenize=False,
                add_generation_prompt=True,
                **(settings.default_chat_template_kwargs or {}),
            )
        )
    except jinja2.TemplateSyntaxError as error:
        message = (error.message or "").rstrip(".")
        raise ChatTemplateError(
            origin=template.origin,
            reason=f"is not valid Jinja, line {error.lineno}: {message}",
            hint="Mend that line.",
        ) from error
    except Exception as error:
        raise ChatTemplateError(
            origin=template.origin,
            reason=f"cannot render one user turn: {error}",
            hint="Mend the template, or default_chat_template_kwargs if it needs some.",
        ) from error
