"""Vectors a fake engine answers a pooling request with."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from containers import vllm_api
from containers.testing.call import Call, Interrupted
from containers.testing.requests import RecordedRequest

Vector: TypeAlias = Sequence[float] | Sequence[Sequence[float]]
Pooled: TypeAlias = Vector | Callable[[RecordedRequest], Vector]

_DIMENSIONS = 8


def unit_vector(request: RecordedRequest) -> Vector:
    """Eight floats of length 1, always the same for the same prompt tokens."""
    digest = hashlib.sha256(repr(request.prompt_token_ids).encode()).digest()
    raw = [byte - 127.5 for byte in digest[:_DIMENSIONS]]
    length = math.hypot(*raw)
    return [number / length for number in raw]


async def pool(call: Call, pooled: Pooled, delay_s: float) -> Any:
    """Wait, then answer with vLLM's ``PoolingRequestOutput``; empty when aborted.

    Raises:
        EngineDeadError: The engine died meanwhile.
    """
    request = call.request
    try:
        await call.turn(delay_s)
    except Interrupted:
        if call.interruption == "death":
            raise vllm_api.EngineDeadError from None
        return _output(request, ())
    return _output(request, pooled(request) if callable(pooled) else pooled)


def _output(request: RecordedRequest, vector: Vector) -> Any:
    import torch

    dimensions = getattr(request.pooling_params, "dimensions", None)
    data = torch.tensor(vector)[..., :dimensions]
    return vllm_api.PoolingRequestOutput(
        request_id=request.request_id,
        outputs=vllm_api.PoolingOutput(data=data),
        prompt_token_ids=list(request.prompt_token_ids),
        num_cached_tokens=0,
        finished=True,
    )
