"""The smallest generation there is."""

from __future__ import annotations

from typing import Any

from containers import vllm_api

TOKEN_ID = 1


async def generate_one_token(engine: Any, request_id: str) -> None:
    """Generate one token from a prompt of one token; it queues like any request.

    Args:
        engine: Client of a started engine.
        request_id: Its id, unlike that of any running request.

    Raises:
        RuntimeError: The engine ended without a token.
    """
    params = vllm_api.SamplingParams(max_tokens=1, temperature=0.0, detokenize=False)
    prompt = {"prompt_token_ids": [TOKEN_ID]}
    n_tokens = 0
    async for output in engine.generate(prompt, params, request_id):
        n_tokens += sum(len(each.token_ids) for each in output.outputs)
    if not n_tokens:
        raise RuntimeError("the engine ended without a token")
