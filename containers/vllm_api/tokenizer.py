"""vLLM's tokenizers: loading one, and knowing a loaded one when we see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from containers import vllm_api

PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")

TOKENIZER_METHODS = ("encode", "decode", "convert_ids_to_tokens", "get_vocab")
"""What every loaded tokenizer answers to: a part of vLLM's ``TokenizerLike``."""


def load_tokenizer(vllm_config: Any) -> Any:
    """Load a model's tokenizer from disk, once in this process.

    vLLM keeps what it loaded by model and options, and whatever in this process asks
    for the same tokenizer later (reasoning settings do) is given the same object.

    Returns:
        The tokenizer, or ``None`` when ``skip_tokenizer_init`` is set.

    Source:
        vllm/tokenizers/registry.py ``cached_tokenizer_from_config`` (0.32.0).
    """
    return vllm_api.cached_tokenizer_from_config(vllm_config.model_config)


def is_hf_tokenizer(tokenizer: Any) -> bool:
    """Whether chat templates of this tokenizer are Jinja, rendered by transformers."""
    return isinstance(tokenizer, vllm_api.HfTokenizer)


def skip_processor_lookup(tokenizer: Any, vllm_config: Any) -> None:
    """Spare a text model the second tokenizer load of its first chat request.

    To look for a processor's chat template vLLM calls ``AutoProcessor``, which for a
    model without a processor loads the tokenizer from disk once more and throws it
    away. This notes the answer, "none", where vLLM would note it.

    Source:
        vllm/renderers/hf.py ``_try_get_processor_chat_template`` (0.32.0).
    """
    model_config = vllm_config.model_config
    if model_config.is_multimodal_model or _has_processor(model_config.model):
        return
    same = model_config.tokenizer == model_config.model
    key = (
        tokenizer.name_or_path,
        model_config.tokenizer_revision,
        model_config.code_revision if same else None,
        model_config.trust_remote_code,
    )
    vllm_api.PROCESSOR_CHAT_TEMPLATES.setdefault(key, None)


def _has_processor(model: str) -> bool:
    folder = Path(model)
    if not folder.is_dir():
        return True
    return any((folder / name).exists() for name in PROCESSOR_FILES)
