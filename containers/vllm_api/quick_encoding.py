"""A tokenizer whose ``encode`` does no more for a text than to encode it."""

from __future__ import annotations

from typing import Any

from containers import vllm_api


def quick_encoding(tokenizer: Any) -> Any:
    """The tokenizer, with an ``encode`` that takes half the time and gives the same.

    transformers prepares each call for all that may be asked of it; a text with
    nothing else asked is given to the tokenizer behind it at once.

    Args:
        tokenizer: transformers' fast tokenizer; it is not changed. One that encodes in
            a way of its own is given back as it is.

    Source:
        transformers/tokenization_utils_tokenizers.py ``TokenizersBackend._encode_plus``
        (5.x).
    """
    if not _encodes_as_usual(tokenizer):
        return tokenizer

    class Quick(type(tokenizer)):  # type: ignore[misc]  # whichever class it is
        encodes_quickly = True

        def encode(self, text: Any, *args: Any, **kw: Any) -> list[int]:
            ids = None if args else _encoded(self, text, **kw)
            return super().encode(text, *args, **kw) if ids is None else ids

        def __reduce__(self) -> Any:  # copies are made of it
            return quick_encoding, (tokenizer,)

    Quick.__name__ = Quick.__qualname__ = f"Quick{type(tokenizer).__name__}"
    quick = Quick.__new__(Quick)
    quick.__dict__.update(tokenizer.__dict__)
    return quick


def _encoded(
    tokenizer: Any,
    text: Any,
    *,
    add_special_tokens: bool = True,
    truncation: Any = None,  # cuts what is longer than max_length, as None does too
    max_length: int | None = None,
    **others: Any,
) -> list[int] | None:
    """Token ids, or ``None`` where more is to be done than to encode."""
    del truncation
    backend = tokenizer._tokenizer  # noqa: SLF001  # as vLLM reads it
    if others or type(text) is not str or not _is_ready(tokenizer, backend):
        return None
    (encoding,) = backend.encode_batch_fast(
        [text], add_special_tokens=add_special_tokens
    )
    ids: list[int] = encoding.ids
    most = tokenizer.model_max_length if max_length is None else max_length
    is_whole = not encoding.overflowing and len(ids) <= most
    return ids if is_whole else None


def _is_ready(tokenizer: Any, backend: Any) -> bool:
    """Whether nobody has told the tokenizer behind it to do more than it should."""
    special = backend.encode_special_tokens == tokenizer.split_special_tokens
    return bool(special) and backend.padding is None


def is_quick(tokenizer: Any) -> bool:
    """Whether its ``encode`` gives what a call of it does, and sooner."""
    return getattr(tokenizer, "encodes_quickly", False)


def _encodes_as_usual(tokenizer: Any) -> bool:
    usual, own = vllm_api.TokenizersBackend, type(tokenizer)
    return (
        isinstance(tokenizer, usual)
        and own.__call__ is usual.__call__  # which vLLM calls
        and own.encode is usual.encode
        and own._encode_plus is usual._encode_plus  # noqa: SLF001  # compared
        and hasattr(tokenizer._tokenizer, "encode_batch_fast")  # noqa: SLF001  # as above
    )
