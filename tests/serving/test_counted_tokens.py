"""What the engine gives for a request is counted in its record, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest

from containers import vllm_api
from containers.request_record import RequestRecord, current_request
from containers.testing import FakeEngine
from containers.vllm_api.client import EngineView
from containers.vllm_api.counted import note_usage

PROMPT = {"prompt_token_ids": [1, 2, 3, 4]}


@pytest.fixture
def record() -> Any:
    record = RequestRecord("POST", "/v1/chat/completions", "id")
    token = current_request.set(record)
    yield record
    current_request.reset(token)


def view_of(engine: FakeEngine) -> EngineView:
    return EngineView(
        engine, renderer=None, vllm_config=SimpleNamespace(model_config=0)
    )


def params(kind: str, **more: Any) -> Any:
    kinds = vllm_api.RequestOutputKind
    return vllm_api.SamplingParams(output_kind=kinds[kind], max_tokens=8, **more)


async def consumed(results: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in results]


@pytest.mark.parametrize("kind", ["DELTA", "CUMULATIVE", "FINAL_ONLY"])
async def test_tokens_are_counted_whatever_api_is_asked(
    record: RequestRecord, kind: str
) -> None:
    view = view_of(FakeEngine("a b c"))
    await consumed(view.generate(PROMPT, params(kind, n=2), "1"))
    await consumed(view.generate(PROMPT, params(kind), "2"))
    assert (record.n_prompt_tokens, record.n_completion_tokens) == (8, 9)
    assert record.finish == "stop"
    assert record.first_token_s is not None


async def test_prompts_that_are_answered_at_once_are_each_counted(
    record: RequestRecord,
) -> None:
    view = view_of(FakeEngine("a b c"))
    first = view.generate(PROMPT, params("DELTA"), "1")
    second = view.generate(PROMPT, params("DELTA"), "2")
    await anext(first)
    await anext(second)
    await consumed(first)
    await consumed(second)
    assert (record.n_prompt_tokens, record.n_completion_tokens) == (8, 6)


async def test_one_that_is_left_has_the_tokens_until_then(
    record: RequestRecord,
) -> None:
    engine = FakeEngine("a b c d")
    async with aclosing(view_of(engine).generate(PROMPT, params("DELTA"), "1")) as all_:
        await anext(all_)
        await anext(all_)
    assert record.n_completion_tokens == 2
    assert record.finish is None
    assert engine.requests[0].state == "aborted"


async def test_a_pooled_prompt_is_counted(record: RequestRecord) -> None:
    view = view_of(FakeEngine(supported_tasks=("embed",)))
    await consumed(view.encode(PROMPT, vllm_api.PoolingParams(task="embed"), "1"))
    assert (record.n_prompt_tokens, record.n_completion_tokens) == (4, None)


async def test_outside_a_request_the_engines_own_generator_is_used() -> None:
    view = view_of(FakeEngine("a"))
    results = view.generate(PROMPT, params("DELTA"), "1")
    assert results.__qualname__ == "FakeEngine.generate"
    await results.aclose()


def test_the_usage_that_the_api_tells_counts(record: RequestRecord) -> None:
    usage = SimpleNamespace(prompt_tokens=5, completion_tokens=7)
    metadata = SimpleNamespace(final_usage_info=usage)
    note_usage(record, {})
    assert record.n_prompt_tokens is None
    note_usage(record, {"request_metadata": metadata})
    assert (record.n_prompt_tokens, record.n_completion_tokens) == (5, 7)
