"""The smallest request there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from containers import vllm_api

TOKEN_ID = 1
POOLING_TASKS = ("embed", "classify", "token_embed", "token_classify")
"""Tasks that need nothing but a prompt, in the order in which they are tried."""


async def ask_least(engine: Any, tasks: Sequence[str], request_id: str) -> None:
    """Ask for the least that a model can give: one token, or one vector.

    It queues like any request. A model that can do neither, such as one that writes
    down speech, is asked nothing.

    Args:
        engine: Client of a started engine.
        tasks: What the model can do, in vLLM's words.
        request_id: Its id, unlike that of any running request.

    Raises:
        RuntimeError: The engine ended without an answer.
    """
    task = next((task for task in POOLING_TASKS if task in tasks), None)
    if "generate" in tasks:
        await generate_one_token(engine, request_id)
    elif task is not None:
        await encode_one_token(engine, task, request_id)


async def generate_one_token(engine: Any, request_id: str) -> None:
    """Generate one token from a prompt of one token.

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


async def encode_one_token(engine: Any, task: str, request_id: str) -> None:
    """Have a prompt of one token pooled.

    Args:
        engine: Client of a started engine.
        task: A pooling task of its model.
        request_id: Its id, unlike that of any running request.

    Raises:
        RuntimeError: The engine ended without an output.
    """
    params = vllm_api.PoolingParams(task=task)
    prompt = {"prompt_token_ids": [TOKEN_ID]}
    n_outputs = 0
    async for output in engine.encode(prompt, params, request_id):
        n_outputs += output.outputs is not None
    if not n_outputs:
        raise RuntimeError("the engine ended without an output")
