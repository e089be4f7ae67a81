"""Embeddings without vLLM."""

from __future__ import annotations

import asyncio
import base64
import inspect
import itertools
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from starlette.responses import JSONResponse

from containers.testing.numbers import flat, require_numbers, unit
from containers.testing.pooling import N_DIMENSIONS
from containers.testing.serving.answers import Embedding, Embeddings, Usage
from containers.testing.serving.generating import n_words
from containers.testing.serving.stand_ins import provide_requests

Input: TypeAlias = str | Sequence[int]
Vectors: TypeAlias = (
    Sequence[float] | Callable[[Input], Sequence[float] | Awaitable[Sequence[float]]]
)


class FakeServingEmbedding:
    """Stands where a ``ServingEmbedding`` would; equal inputs have equal vectors.

    Called with a request, it answers with a response as vLLM's does: one vector an
    input, in numbers or base64.

    Args:
        vectors: The vector of every input, or a callable of one input (its text, or
            its token ids), sync or async, that returns one. By default eight numbers
            of length 1 made from the input, or as many as ``dimensions`` asks for.
        delay_s: Seconds before each answer.
        fails: Raised for every request.
        model: Name it answers with when a request names none.

    Attributes:
        requests: Every request so far, oldest first, as it was passed.

    Raises:
        InjectionError: ``vectors`` is neither numbers nor callable.
    """

    def __init__(
        self,
        vectors: Vectors | None = None,
        *,
        delay_s: float = 0.0,
        fails: Exception | None = None,
        model: str = "fake",
    ) -> None:
        if vectors is not None and not callable(vectors):
            _require(vectors)
        provide_requests()
        self.requests: list[Any] = []
        self._vectors = vectors
        self._delay_s = delay_s
        self._fails = fails
        self._model = model
        self._ids = itertools.count(1)

    async def __call__(
        self,
        request: Any,
        raw_request: Any = None,  # noqa: ARG002  # vLLM's
    ) -> JSONResponse:
        """Answer with a vector for each input."""
        self.requests.append(request)
        await asyncio.sleep(self._delay_s)
        if self._fails is not None:
            raise self._fails.with_traceback(None)
        inputs = _inputs(request)
        n_tokens = sum(
            n_words(each) if isinstance(each, str) else len(each) for each in inputs
        )
        answer = Embeddings(
            id=f"embd-{next(self._ids)}",
            created=int(time.time()),
            model=getattr(request, "model", None) or self._model,
            data=[await self._embedding(*each, request) for each in enumerate(inputs)],
            usage=Usage.of(n_tokens, 0),
        )
        return JSONResponse(answer.model_dump())

    async def _embedding(self, index: int, each: Input, request: Any) -> Embedding:
        dimensions = getattr(request, "dimensions", None)
        vector: Any = self._vectors
        if callable(vector):
            vector = vector(each)
            if inspect.isawaitable(vector):
                vector = await vector
            _require(vector)
        elif vector is None:
            seed = each.encode() if isinstance(each, str) else each
            vector = unit(flat(seed, dimensions or N_DIMENSIONS))
        numbers = [float(number) for number in vector][:dimensions]
        if getattr(request, "encoding_format", "float") == "base64":
            packed = struct.pack(f"<{len(numbers)}f", *numbers)
            return Embedding(index=index, embedding=base64.b64encode(packed).decode())
        return Embedding(index=index, embedding=numbers)


def _inputs(request: Any) -> list[Input]:
    """Texts, or lists of token ids."""
    asked = getattr(request, "input", None)
    if asked is None:
        return [" ".join(str(message["content"]) for message in request.messages)]
    is_one = isinstance(asked, str) or all(isinstance(each, int) for each in asked)
    return [asked] if is_one else list(asked)


def _require(vector: Any) -> None:
    require_numbers(vector, owner="FakeServingEmbedding", argument="vectors")
