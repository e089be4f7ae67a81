"""What an engine gives for a request, counted on its way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from time import perf_counter
from typing import Any

from containers.request_record import RequestRecord

METADATA = "request_metadata"
"""Where vLLM's serving objects leave the usage in the state of a request.

Source:
    vllm/entrypoints/generate/base/protocol.py ``RequestResponseMetadata`` (0.32.0).
"""


class CountedGeneration(AsyncGenerator[Any, None]):
    """The same results, their tokens noted in the record.

    Who reads ``uncounted`` instead, which saves each result a turn of a generator,
    counts by ``note`` and ``count`` what it has read.

    Args:
        results: vLLM's ``RequestOutput`` objects; closed with this.
        record: The request they are for.
        cumulative: Whether each result repeats the tokens of those before; then they
            are counted at the end.

    Attributes:
        uncounted: The results.
        note: Notes a result.
        count: Counts tokens of results that were not noted.
    """

    def __init__(
        self,
        results: AsyncGenerator[Any, None],
        record: RequestRecord,
        *,
        cumulative: bool,
    ) -> None:
        self.uncounted = results
        self._notes = _Notes(record, cumulative=cumulative)
        self.count, self.note = self._notes.count, self._notes.note
        self._noted = _noted(results, self._notes)

    def __aiter__(self) -> AsyncIterator[Any]:
        """The results, one noted after the other."""
        return self._noted

    def __anext__(self) -> Coroutine[Any, Any, Any]:
        """The next result, noted."""
        return self._noted.__anext__()

    def asend(self, value: None) -> Coroutine[Any, Any, Any]:
        """As :meth:`__anext__`."""
        return self._noted.asend(value)

    def athrow(self, *error: Any) -> Coroutine[Any, Any, Any]:
        """Raise an error where the results stand."""
        return self._noted.athrow(*error)

    async def aclose(self) -> None:
        """End the results, read or not."""
        await self._noted.aclose()
        async with _closing(self.uncounted):
            pass


class _Notes:
    """What is noted of one generation.

    Apart from it, as vLLM does not close what it has not read to its end: that ends
    when nobody knows it any more, and so must not know itself.
    """

    def __init__(self, record: RequestRecord, *, cumulative: bool) -> None:
        self._record = record
        self._cumulative = cumulative
        self._is_first = True
        record.n_completion_tokens = record.n_completion_tokens or 0

    def count(self, n_tokens: int) -> None:
        """Count tokens of results that were not noted."""
        so_far = self._record.n_completion_tokens or 0
        self._record.n_completion_tokens = so_far + n_tokens

    def note(self, result: Any) -> None:
        """Note a result."""
        if self._is_first:
            self._is_first = False
            _note_first(self._record, result)
        for output in result.outputs:
            ends = output.finish_reason is not None
            if ends:
                self._record.finish = output.finish_reason
            if ends or not self._cumulative:
                self.count(len(output.token_ids))


async def _noted(
    results: AsyncIterator[Any], notes: _Notes
) -> AsyncGenerator[Any, None]:
    async with _closing(results):
        async for result in results:
            notes.note(result)
            yield result


async def counted_encoding(
    results: AsyncIterator[Any], record: RequestRecord
) -> AsyncGenerator[Any, None]:
    """The same results, the tokens of their prompt noted in the record.

    Args:
        results: vLLM's ``PoolingRequestOutput`` objects; closed with this.
        record: The request they are for.
    """
    async with _closing(results):
        async for result in results:
            _note_prompt(record, result)
            yield result


def note_usage(record: RequestRecord, state: Mapping[str, Any]) -> None:
    """Note the usage as the API tells it, which with beam search counts otherwise.

    Args:
        record: A request that has been answered.
        state: State of its scope.
    """
    usage = getattr(state.get(METADATA), "final_usage_info", None)
    if usage is not None:
        record.n_prompt_tokens = usage.prompt_tokens
        record.n_completion_tokens = usage.completion_tokens


def _note_first(record: RequestRecord, result: Any) -> None:
    if record.first_token_s is None:
        record.first_token_s = perf_counter()
    _note_prompt(record, result)


def _note_prompt(record: RequestRecord, result: Any) -> None:
    n_prompt = len(result.prompt_token_ids or ())
    record.n_prompt_tokens = (record.n_prompt_tokens or 0) + n_prompt


def _closing(results: Any) -> AbstractAsyncContextManager[Any]:
    return aclosing(results) if hasattr(results, "aclose") else nullcontext()
