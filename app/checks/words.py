"""What a check says of the objects it loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from containers.chat_template import ChatTemplate


def described(name: str, loaded: Any) -> str:
    """A few words on the loaded object of a provider."""
    return _WORDS[name](loaded)


def _vllm_config(vllm_config: Any) -> str:
    model = vllm_config.model_config
    dtype = str(model.dtype).removeprefix("torch.")
    return f"{', '.join(model.architectures)}, {model.max_model_len} tokens, {dtype}"


def _tokenizer(tokenizer: Any) -> str:
    return f"{type(tokenizer).__name__}, {len(tokenizer.get_vocab())} tokens"


def _chat_template(template: ChatTemplate) -> str:
    if template.origin == "none":
        return "the model has none: its chat requests will be refused"
    if template.text is None:
        return f"from {template.origin}"
    wanted = template.content_format
    content = template.detected_format if wanted == "auto" else wanted
    return f"from {template.origin}, renders a user's turn, content format {content}"


def _online_renderer(_: Any) -> str:
    return "turns a request into a prompt, and knows its parsers"


_WORDS: dict[str, Callable[[Any], str]] = {
    "vllm_config": _vllm_config,
    "tokenizer": _tokenizer,
    "chat_template": _chat_template,
    "online_renderer": _online_renderer,
}
