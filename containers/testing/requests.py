"""What a fake engine was asked, and what became of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

RequestState = Literal["running", "finished", "aborted", "failed"]
"""Where a request stands; ``failed`` ended with an exception."""


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One call of ``generate`` or ``encode``, as it stood when it was looked at.

    Attributes:
        request_id: The id the serving object gave it.
        prompt: The prompt's text, when the renderer kept it.
        prompt_token_ids: The prompt's tokens; zeros for a prompt of embeddings.
        sampling_params: vLLM's ``SamplingParams``; ``None`` for ``encode``.
        pooling_params: vLLM's ``PoolingParams``; ``None`` for ``generate``.
        lora_request: vLLM's ``LoRARequest``, or ``None`` for the base model.
        priority: The scheduling priority, lower is earlier.
        trace_headers: Tracing headers handed on, or ``None``.
        data_parallel_rank: The rank asked for, or ``None``.
        session_id: The session the request belongs to, or ``None``.
        media_sha256: Digest of what the prompt holds beside tokens, such as pictures or
            embeddings; ``None`` for plain text.
        state: Where the request stands.
        tokens_out: Tokens answered so far, over all ``n`` answers.
    """

    request_id: str
    prompt: str | None = None
    prompt_token_ids: tuple[int, ...] = ()
    sampling_params: Any = None
    pooling_params: Any = None
    lora_request: Any = None
    priority: int = 0
    trace_headers: Mapping[str, str] | None = None
    data_parallel_rank: int | None = None
    session_id: str | None = None
    media_sha256: str | None = None
    state: RequestState = "running"
    tokens_out: int = 0


def request_of(
    prompt: Any,
    request_id: str,
    *,
    tokenizer: Any = None,
    prompt_text: str | None = None,
    **fields: Any,
) -> RecordedRequest:
    """The record of a call from what an engine client was called with.

    Args:
        prompt: As for :func:`prompt_parts`.
        request_id: The call's id.
        tokenizer: As for :func:`prompt_parts`.
        prompt_text: The prompt's text, where the prompt itself does not hold it.
        fields: Further attributes of the record.
    """
    text, ids = prompt_parts(prompt, tokenizer)
    return RecordedRequest(
        request_id=request_id,
        prompt=prompt_text if text is None else text,
        prompt_token_ids=ids,
        media_sha256=_media_sha256(prompt),
        **fields,
    )


def prompt_parts(prompt: Any, tokenizer: Any) -> tuple[str | None, tuple[int, ...]]:
    """Text and token ids of whatever an engine client takes as a prompt.

    Args:
        prompt: A rendered input (the usual case), a bare string, a list of token ids,
            or vLLM's ``EngineCoreRequest``.
        tokenizer: Used for a bare string; without one its UTF-8 bytes stand for tokens.

    Raises:
        TypeError: It is a stream of inputs, which a fake engine does not take.
    """
    if hasattr(prompt, "__aiter__"):
        raise TypeError("FakeEngine takes whole prompts, not a stream of inputs")
    if isinstance(prompt, str):
        ids = tokenizer.encode(prompt) if tokenizer else prompt.encode()
        return prompt, tuple(ids)
    if isinstance(prompt, list):
        return None, tuple(prompt)
    parts = prompt if isinstance(prompt, Mapping) else _prompt_of(prompt)
    parts = parts.get("decoder_prompt") or parts
    ids = parts.get("prompt_token_ids")
    if ids is None and parts.get("prompt_embeds") is not None:
        ids = [0] * len(parts["prompt_embeds"])
    if ids is None:
        return prompt_parts(parts.get("prompt") or "", tokenizer)
    return parts.get("prompt"), tuple(ids)


def _media_sha256(prompt: Any) -> str | None:
    parts = prompt if isinstance(prompt, Mapping) else {}
    embeds: Any = parts.get("prompt_embeds")
    hashes = parts.get("mm_hashes")
    if embeds is None and not hashes:
        return None
    values = embeds.tolist() if hasattr(embeds, "tolist") else embeds
    return hashlib.sha256(repr((values, hashes)).encode()).hexdigest()


def _prompt_of(prompt: Any) -> dict[str, Any]:
    """The two fields of an ``EngineCoreRequest`` that say what its prompt is."""
    fields = ("prompt_token_ids", "prompt_embeds")
    return {name: getattr(prompt, name, None) for name in fields}
