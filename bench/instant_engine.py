"""An engine client that answers at once, so that all time is the front end's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from containers import vllm_api
from containers.testing import FakeEngine

WORDS = (" the", " capital", " of", " France", " is", " Paris", ",", "\n", ' "a"', " é")


class InstantEngine(FakeEngine):
    """A double whose tokens cost next to nothing: a word each, ``max_tokens`` of them.

    Results are made once a request and given again and again, as nobody changes them.

    Between two tokens of a stream everybody else gets a turn, as with an engine whose
    tokens come one by one.
    """

    async def generate(
        self, prompt: Any, sampling_params: Any, request_id: str, **other: Any
    ) -> AsyncGenerator[Any, None]:
        """Yield a token at a time, or all at once unless deltas are wanted."""
        del other
        n, deltas = sampling_params.max_tokens, vllm_api.RequestOutputKind.DELTA
        prompt_token_ids = prompt["prompt_token_ids"]
        if sampling_params.output_kind != deltas:
            yield said(request_id, prompt_token_ids, text=WORDS[0] * n, n=n, ends=True)
            return
        results = [
            said(request_id, prompt_token_ids, text=text, n=1, ends=False)
            for text in WORDS
        ]
        for number in range(n - 1):
            await asyncio.sleep(0)
            yield results[number % len(WORDS)]
        await asyncio.sleep(0)
        text = WORDS[(n - 1) % len(WORDS)]
        yield said(request_id, prompt_token_ids, text=text, n=1, ends=True)


def said(
    request_id: str, prompt_token_ids: list[int], *, text: str, n: int, ends: bool
) -> Any:
    """vLLM's ``RequestOutput`` of one answer's next tokens."""
    output = vllm_api.CompletionOutput(
        index=0,
        text=text,
        token_ids=[7] * n,
        cumulative_logprob=None,
        logprobs=None,
        finish_reason="length" if ends else None,
    )
    return vllm_api.RequestOutput(
        request_id=request_id,
        prompt=None,
        prompt_token_ids=prompt_token_ids,
        prompt_logprobs=None,
        outputs=[output],
        finished=ends,
    )
