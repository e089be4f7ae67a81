"""What an engine gives for a request, counted on its way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from time import perf_counter
from typing import Any

from containers.request_record import RequestRecord

METADATA = "request_metadata"
"""Where vLLM's serving objects leave the usage in the state of a request.

Source:
    vllm/entrypoints/generate/base/protocol.py ``RequestResponseMetadata`` (0.32.0).
"""


async def counted_generation(
    results: AsyncIterator[Any], record: RequestRecord, *, cumulative: bool
) -> AsyncGenerator[Any, None]:
    """The same results, their tokens noted in the record.

    Args:
        results: vLLM's ``RequestOutput`` objects; closed with this.
        record: The request they are for.
        cumulative: Whether each result repeats the tokens of those before; then they
            are counted at the end.
    """
    record.n_completion_tokens = record.n_completion_tokens or 0
    is_first = True
    async with _closing(results):
        async for result in results:
            if is_first:
                is_first = False
                _note_first(record, result)
            for output in result.outputs:
                ends = output.finish_reason is not None
                if ends:
                    record.finish = output.finish_reason
                if ends or not cumulative:
                    record.n_completion_tokens += len(output.token_ids)
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
