"""The renderer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from containers.graph import Expected

BuiltRenderer = Annotated[
    Any, Expected("a renderer", has=("render_chat_async", "render_cmpl_async"))
]


def renderer(
    *, vllm_config: Any, tokenizer: Any, short_prompt_max_chars: int = 0
) -> Iterator[BuiltRenderer]:
    """Build vLLM's renderer around the injected tokenizer (about 0.3 s).

    Args:
        vllm_config: Configuration of the engine.
        tokenizer: Loaded tokenizer.
        short_prompt_max_chars: Characters of a prompt that is made on the event loop,
            which is faster than two hops to a thread; 0 for none.

    Yields:
        A renderer that templates and tokenizes in threads of its own, safe for
        concurrent use. It lives as long as one engine: stopping either ends it.
    """
    from containers.serving.injected import require_tokenizer
    from containers.vllm_api.renderer import build_renderer, end_renderer

    require_tokenizer(tokenizer, owner="renderer")
    built = build_renderer(
        vllm_config, tokenizer, short_prompt_max_chars=short_prompt_max_chars
    )
    try:
        yield built
    finally:
        end_renderer(built)
