"""What a fake engine answers a pooling request with, in the shape of its task."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from containers import vllm_api
from containers.testing.call import Call, Interrupted
from containers.testing.numbers import classes, flat, require_numbers, unit
from containers.testing.requests import RecordedRequest

Vector: TypeAlias = Sequence[float] | Sequence[Sequence[float]]
Pooled: TypeAlias = Vector | Callable[[RecordedRequest], Vector | Awaitable[Vector]]

N_DIMENSIONS = 8
"""Dimensions of an embedding, unless a request asks for another number."""


def model_like(request: RecordedRequest, num_labels: int) -> Vector:
    """What a model of the asked task would give, always the same for the same prompt.

    ====================  ============================================================
    task                  answer
    ====================  ============================================================
    ``embed``             ``dimensions`` floats of length 1
    ``token_embed``       such a row for each prompt token
    ``classify``          ``num_labels`` probabilities; a single one is a score, 0 to 1
    ``token_classify``    such a row for each prompt token
    combined, ``plugin``  as ``embed``
    ====================  ============================================================

    With ``use_activation=False`` the numbers are neither scaled to length 1 nor made
    probabilities.
    """
    params, ids = request.pooling_params, request.prompt_token_ids
    task = params.task or "embed"
    is_told_apart = task in ("classify", "token_classify")
    size = num_labels if is_told_apart else params.dimensions or N_DIMENSIONS
    seeds = list(enumerate(ids)) if task.startswith("token_") else [ids]
    rows = [flat(seed, size) for seed in seeds]
    if params.use_activation is not False:
        rows = [classes(row) if is_told_apart else unit(row) for row in rows]
    return rows if task.startswith("token_") else rows[0]


class Pooler:
    """Answers pooling requests, and compares texts token by token as a worker does.

    Args:
        pooled: What it answers; ``None`` for what :func:`model_like` makes up.
        num_labels: Classes of a model that classifies.

    Raises:
        InjectionError: ``pooled`` is neither numbers nor callable.
    """

    def __init__(self, pooled: Pooled | None, *, num_labels: int) -> None:
        if pooled is not None and not callable(pooled):
            _require(pooled)
        self._pooled = pooled
        self._num_labels = num_labels
        self._queries: dict[str, Any] = {}

    async def answer(self, call: Call, delay_s: float) -> Any:
        """Wait, then give vLLM's ``PoolingRequestOutput``; empty when aborted.

        Raises:
            EngineDeadError: The engine died meanwhile.
            InjectionError: What was to be called returned no numbers.
        """
        request = call.request
        try:
            await call.turn(delay_s)
            vector = await call.wait(lambda: self._vector(request))
        except Interrupted:
            if call.interruption == "death":
                raise vllm_api.EngineDeadError from None
            vector = ()
        return _output(request, self._compared(request, _tensor(request, vector)))

    async def _vector(self, request: RecordedRequest) -> Vector:
        if self._pooled is None:
            return model_like(request, self._num_labels)
        vector: Any = self._pooled
        if callable(vector):
            vector = vector(request)
            if inspect.isawaitable(vector):
                vector = await vector
            _require(vector)
        return vector  # type: ignore[no-any-return]  # as required above

    def _compared(self, request: RecordedRequest, tensor: Any) -> Any:
        """The score of a document against a query that came before, if that is asked.

        Source:
            vllm/v1/pool/late_interaction_runner.py (0.32.0).
        """
        asked = request.pooling_params.late_interaction_params
        if asked is None or tensor.ndim < 2:  # noqa: PLR2004  # a matrix
            return tensor
        if asked.mode == "cache_query":
            self._queries[asked.query_key] = tensor
            return tensor.new_zeros(())
        query = self._queries.get(asked.query_key)
        if query is None:
            raise ValueError(f"late-interaction query cache miss: {asked.query_key!r}")
        return (query @ tensor.T).amax(dim=1).sum()


def _tensor(request: RecordedRequest, vector: Vector) -> Any:
    import torch

    data = torch.tensor(vector, dtype=torch.float32)
    return data[..., : request.pooling_params.dimensions]


def _output(request: RecordedRequest, data: Any) -> Any:
    return vllm_api.PoolingRequestOutput(
        request_id=request.request_id,
        outputs=vllm_api.PoolingOutput(data=data),
        prompt_token_ids=list(request.prompt_token_ids),
        num_cached_tokens=0,
        finished=True,
    )


def _require(vector: Any) -> None:
    require_numbers(vector, owner="FakeEngine", argument="pooled", may_be_rows=True)
