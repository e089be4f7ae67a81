"""vLLM's renderer, which templates and tokenizes every prompt of one engine."""

from __future__ import annotations

from typing import Any

from containers import vllm_api
from containers.vllm_api.quick_encoding import quick_encoding
from containers.vllm_api.short_prompts import make_short_prompts_here
from containers.vllm_api.tokenizer import is_hf_tokenizer


def build_renderer(
    vllm_config: Any, tokenizer: Any, *, short_prompt_max_chars: int = 0
) -> Any:
    """Build the renderer around a loaded tokenizer.

    The renderer works on its own copies of the tokenizer, one a thread, so requests
    never share one; ``injected_tokenizer`` on it says which tokenizer they are of.

    Args:
        vllm_config: Configuration of the engine.
        tokenizer: Loaded tokenizer.
        short_prompt_max_chars: Characters of a prompt that is made on the event loop;
            0 for none.

    Source:
        vllm/renderers/registry.py ``renderer_from_config`` (0.32.0), which would load
        the tokenizer itself.
    """
    model_config = vllm_config.model_config
    mode, *_ = vllm_api.tokenizer_args_from_config(model_config)
    loaded = _as_vllm_loads_it(tokenizer)
    if short_prompt_max_chars:
        loaded = quick_encoding(loaded)
    renderer = vllm_api.RENDERER_REGISTRY.load_renderer(mode, vllm_config, loaded)
    renderer.injected_tokenizer = tokenizer
    make_short_prompts_here(renderer, max_chars=short_prompt_max_chars)
    return renderer


def end_renderer(renderer: Any) -> None:
    """Shut a renderer down, and let go of the copies of its tokenizer.

    vLLM remembers which keywords a copy's methods take, and with them every copy (45
    MiB for a small model) of the last hundred renderers.

    Source:
        vllm/utils/func_utils.py ``supports_kw`` (0.32.0).
    """
    renderer.shutdown()
    vllm_api.KNOWN_KEYWORDS.cache_clear()


def _as_vllm_loads_it(tokenizer: Any) -> Any:
    """A tokenizer straight from transformers, with what vLLM adds to those it loads."""
    if is_hf_tokenizer(tokenizer) and not hasattr(tokenizer, "max_chars_per_token"):
        return vllm_api.get_cached_tokenizer(tokenizer)
    return tokenizer


def tokenizer_of(renderer: Any) -> Any:
    """Tokenizer a renderer was built around."""
    return getattr(renderer, "injected_tokenizer", renderer.tokenizer)
