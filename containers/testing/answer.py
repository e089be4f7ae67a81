"""One of the ``n`` answers to a request, as it grows token by token."""

from __future__ import annotations

from typing import Any

from containers import vllm_api
from containers.testing.logprobs import token_logprobs
from containers.testing.script import Items, Token


class GrowingAnswer:
    """Text, tokens and end of one answer, cut where vLLM would cut it.

    Args:
        index: Which of the ``n`` answers it is, from 0.
        params: vLLM's ``SamplingParams``.
        items: Where its tokens come from.

    Source:
        vllm/v1/engine/detokenizer.py and output_processor.py (0.32.0).
    """

    def __init__(self, index: int, params: Any, items: Items) -> None:
        self.index = index
        self.items = items
        self.token_ids: list[int] = []
        self.finish_reason: str | None = None
        self._params = params
        self._text = ""
        self._stop_reason: str | int | None = None
        self._logprobs: list[Any] | None = None
        self._cumulative_logprob: float | None = None
        if params.num_logprobs is not None:
            self._logprobs, self._cumulative_logprob = [], 0.0
        self._stops = _stop_strings(params)
        self._n_chars_sent = 0
        self._n_tokens_sent = 0

    @property
    def is_finished(self) -> bool:
        """Whether nothing more comes."""
        return self.finish_reason is not None

    def add(self, token: Token) -> None:
        """Take the next token, and finish when it completes the answer."""
        params, n_chars_before = self._params, len(self._text)
        token_id = token.token_id or 0
        self.token_ids.append(token_id)
        self._add_logprobs(token)
        may_stop = len(self.token_ids) > params.min_tokens
        is_stop = may_stop and token_id in (params.stop_token_ids or ())
        if params.detokenize and (params.include_stop_str_in_output or not is_stop):
            self._text += token.text
        if is_stop:
            self.finish("stop", token_id)
        elif params.max_tokens is not None and len(self.token_ids) >= params.max_tokens:
            self.finish("length")
        if may_stop:
            self._cut_at_stop_string(n_chars_before)

    def finish(self, reason: str, stop_reason: str | int | None = None) -> None:
        """End the answer: ``stop``, ``length`` or ``abort``."""
        self.finish_reason = reason
        self._stop_reason = stop_reason

    def output(self, *, delta: bool) -> Any:
        """What an engine says now, as vLLM's ``CompletionOutput``.

        Args:
            delta: Only what is new since the last call, not the whole answer.
        """
        n_chars = max(len(self._text) - self._n_chars_held, self._n_chars_sent)
        first_char, first_token = 0, 0
        if delta:
            first_char, first_token = self._n_chars_sent, self._n_tokens_sent
        self._n_chars_sent, self._n_tokens_sent = n_chars, len(self.token_ids)
        return vllm_api.CompletionOutput(
            index=self.index,
            text=self._text[first_char:n_chars],
            token_ids=self.token_ids[first_token:],
            cumulative_logprob=self._cumulative_logprob,
            logprobs=None if self._logprobs is None else self._logprobs[first_token:],
            finish_reason=self.finish_reason,
            stop_reason=self._stop_reason,
        )

    @property
    def _n_chars_held(self) -> int:
        """Characters kept back because a stop string may begin in them."""
        if self.is_finished or self._params.include_stop_str_in_output:
            return 0
        return max(map(len, self._stops), default=1) - 1

    def _add_logprobs(self, token: Token) -> None:
        if self._logprobs is None or self._cumulative_logprob is None:
            return
        found = token_logprobs(token, self._params)
        self._logprobs.append(found)
        self._cumulative_logprob += next(iter(found.values())).logprob

    def _cut_at_stop_string(self, n_chars_before: int) -> None:
        ends = []
        for order, stop in enumerate(self._stops):
            start = self._text.find(stop, max(n_chars_before - len(stop) + 1, 0))
            if start >= 0:
                ends.append((start + len(stop), order, start, stop))
        if not ends:
            return
        end, _, start, stop = min(ends)
        keeps_it = self._params.include_stop_str_in_output
        self._text = self._text[: end if keeps_it else start]
        self.finish("stop", stop)


def _stop_strings(params: Any) -> tuple[str, ...]:
    if not params.detokenize or not params.stop:
        return ()
    return (params.stop,) if isinstance(params.stop, str) else tuple(params.stop)
