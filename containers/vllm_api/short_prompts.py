"""Short prompts are made on the event loop, long ones in vLLM's threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from containers import vllm_api
from containers.vllm_api.plain_chats import PlainChats
from containers.vllm_api.quick_encoding import is_quick

CHARS_A_PIECE = 50
"""What a message, or a further prompt, counts besides its text: the work on it."""

_PLAIN = (int, float, bool, type(None))


def make_short_prompts_here(renderer: Any, *, max_chars: int) -> None:
    """Let a renderer template and tokenize short prompts without its threads.

    vLLM's renderer does the same in two ways: at once, and in threads, to which two
    hops there and back cost a short prompt more than all that is done with it. This
    takes the former way for short ones. It is for models of text alone and
    transformers' fast tokenizers, of which one that encodes in its own way may take any
    time; and for templates that are the server's: those of requests keep to threads,
    where vLLM can give them up when they take too long.

    Args:
        renderer: vLLM's renderer; any other kind stays as it is.
        max_chars: Characters a prompt may have to count as short; 0 for none.

    Source:
        vllm/renderers/base.py ``BaseRenderer`` (0.32.0).
    """
    if max_chars == 0 or type(renderer) is not vllm_api.HfRenderer:
        return
    if is_quick(renderer.tokenizer) and renderer.mm_processor is None:
        renderer.short_prompts = _ShortPrompts(renderer, max_chars)


def trust_template(renderer: Any, template: str | None) -> None:
    """Let a renderer's short prompts be made of a template that the server was given.

    Args:
        renderer: vLLM's renderer; its tokenizer's own template needs no word.
        template: The template's text.
    """
    short_prompts = getattr(renderer, "short_prompts", None)
    if short_prompts is not None:
        short_prompts.trust(template)


class _ShortPrompts:
    """Two of a renderer's methods, which for short prompts are done at once.

    What they call is exchanged for what does the same with less: vLLM's own is called
    by its threads.
    """

    def __init__(self, renderer: Any, max_chars: int) -> None:
        self._templates: set[str | None] = {None}
        self._plain_chats = PlainChats(renderer)
        self._max_chars = max_chars
        self._chat, self._chat_in_threads = (
            renderer.render_chat,
            renderer.render_chat_async,
        )
        self._text, self._text_in_threads = (
            renderer.render_cmpl,
            renderer.render_cmpl_async,
        )
        renderer.render_chat_async = self.render_chat
        renderer.render_cmpl_async = self.render_cmpl
        self._tokenizer, self._tokenized = renderer.tokenizer, renderer._tokenize_prompt  # noqa: SLF001  # of vLLM's renderer
        renderer._tokenize_prompt = self.tokenize_prompt  # noqa: SLF001  # as above
        if not renderer.model_config.enable_prompt_embeds:
            renderer.render_messages = self._plain_chats.render_messages

    def trust(self, template: str | None) -> None:
        """Take a template for the server's, and learn anew how it is called."""
        if template not in self._templates:
            self._templates.add(template)
            self._plain_chats.forget()

    async def render_chat(
        self, conversations: Any, chat_params: Any, *args: Any, **kw: Any
    ) -> Any:
        """Prompts of conversations."""
        is_short = (
            chat_params.chat_template in self._templates
            and all(_is_text(message) for each in conversations for message in each)
            and self._is_short((conversations, chat_params.chat_template_kwargs))
        )
        if is_short:
            return self._chat(conversations, chat_params, *args, **kw)
        return await self._chat_in_threads(conversations, chat_params, *args, **kw)

    async def render_cmpl(self, prompts: Any, *args: Any, **kw: Any) -> Any:
        """Prompts of texts."""
        texts = [each.get("prompt") for each in prompts if isinstance(each, Mapping)]
        n_chars = [len(text) for text in texts if isinstance(text, str)]
        n_all = sum(n_chars) + (len(prompts) - 1) * CHARS_A_PIECE
        if len(n_chars) == len(prompts) and n_all <= self._max_chars:
            return self._text(prompts, *args, **kw)
        return await self._text_in_threads(prompts, *args, **kw)

    def tokenize_prompt(self, prompt: Any, params: Any) -> Any:
        """A text's tokens, without what transformers finds out besides."""
        if getattr(params, "return_token_offsets", False):
            return self._tokenized(prompt, params)
        ids = self._tokenizer.encode(prompt["prompt"], **params.get_encode_kwargs())
        return {"prompt_token_ids": ids, **prompt}

    def _is_short(self, content: Any) -> bool:
        """Whether content is plain data, and little of it; looks no further than so."""
        n_left, pieces = self._max_chars, [content]
        while pieces and n_left >= 0:
            piece = pieces.pop()
            if isinstance(piece, str):
                n_left -= len(piece)
            elif isinstance(piece, _PLAIN):
                continue
            elif isinstance(piece, Mapping):
                n_left -= CHARS_A_PIECE
                pieces += [*piece, *piece.values()]
            elif isinstance(piece, Sequence):
                n_left -= len(piece)
                pieces += piece if n_left >= 0 else ()
            else:
                return False
        return n_left >= 0


def _is_text(message: Any) -> bool:
    """Whether a message is text alone: media are fetched, and refused, elsewhere."""
    if not isinstance(message, Mapping):
        return False
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return True
    return isinstance(content, Sequence) and all(
        isinstance(part, Mapping) and part.get("type") == "text" for part in content
    )
