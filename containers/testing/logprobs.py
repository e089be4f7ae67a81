"""Log-probabilities that look like an engine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers import vllm_api
from containers.testing.script import Token

LOGPROB = -0.125
"""Log-probability of a scripted token that has none of its own."""

WHOLE_VOCABULARY = 100
"""Alternatives given for ``logprobs=-1``, which asks for every token there is."""


def token_logprobs(token: Token, params: Any) -> dict[int, Any]:
    """vLLM's ``Logprob`` by token id: the token first, then its alternatives.

    As many as an engine gives when it took the likeliest token: ``logprobs`` of them
    and one at least; with ``logprob_token_ids`` those ids beside the token.
    """
    logprob = LOGPROB if token.logprob is None else token.logprob
    found = {token.token_id or 0: _logprob(logprob, 1, token.text)}
    for token_id in _alternatives(token, params):
        if token_id not in found:
            rank = len(found) + 1
            found[token_id] = _logprob(logprob - rank, rank, f"<{rank}>")
    return found


def prompt_logprobs(prompt_token_ids: Sequence[int]) -> list[dict[int, Any] | None]:
    """One entry a prompt token; nothing predicts the first."""
    first: list[dict[int, Any] | None] = [None]
    return first + [{id_: _logprob(LOGPROB, 1, None)} for id_ in prompt_token_ids[1:]]


def _alternatives(token: Token, params: Any) -> Sequence[int]:
    if params.logprobs is None or params.logprob_token_ids:
        return params.logprob_token_ids or ()
    wanted = WHOLE_VOCABULARY if params.logprobs == -1 else params.logprobs
    first = token.token_id or 0
    return range(first + 1, first + wanted)


def _logprob(logprob: float, rank: int, text: str | None) -> Any:
    return vllm_api.Logprob(logprob=logprob, rank=rank, decoded_token=text)
