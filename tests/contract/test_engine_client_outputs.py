"""What the fake engine says equals what vLLM's own output processor makes of it."""

import asyncio
import itertools
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from containers import vllm_api
from containers.testing import FakeEngine, tiny_model
from containers.testing.script import cut

TEXT = "The capital of France is Paris, the city of light. Ça va? 東京"
PROMPT = {"type": "token", "prompt_token_ids": [3, 4, 5], "prompt": "abc"}
KINDS = ("CUMULATIVE", "DELTA", "FINAL_ONLY")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_model(tmp_path_factory.mktemp("tiny")))


def sampling_params(kind: Any, **kwargs: Any) -> Any:
    output_kind = vllm_api.RequestOutputKind[kind]
    return vllm_api.SamplingParams(output_kind=output_kind, **kwargs)


async def said_by_the_fake(tokenizer: Any, params: Any) -> list[Any]:
    engine = FakeEngine(TEXT, tokenizer=tokenizer)
    return [seen(out) async for out in engine.generate(PROMPT, params, "r")]


def said_by_vllm(tokenizer: Any, params: Any) -> list[Any]:
    """The same tokens, one a step, through vLLM's detokenizer and output processor."""
    from vllm.v1.engine import EngineCoreOutput, EngineCoreRequest, FinishReason
    from vllm.v1.engine.output_processor import OutputProcessor

    processor = OutputProcessor(tokenizer, log_stats=False)
    processor.add_request(
        EngineCoreRequest(
            request_id="internal",
            external_req_id="r",
            prompt_token_ids=PROMPT["prompt_token_ids"],
            mm_features=None,
            sampling_params=params,
            pooling_params=None,
            arrival_time=time.time(),
            lora_request=None,
            cache_salt=None,
            data_parallel_rank=None,
        ),
        prompt=PROMPT["prompt"],
    )
    outputs = []
    ids = [token.token_id for token in cut(TEXT, tokenizer)]
    for count, token_id in enumerate([*ids, None], start=1):
        reason, stop_reason = None, None
        if token_id is None:
            reason = FinishReason.STOP
        elif token_id in params.stop_token_ids and count > params.min_tokens:
            reason, stop_reason = FinishReason.STOP, token_id
        elif count == params.max_tokens:
            reason = FinishReason.LENGTH
        step = EngineCoreOutput(
            request_id="internal",
            new_token_ids=[] if token_id is None else [token_id],
            finish_reason=reason,
            stop_reason=stop_reason,
        )
        done = processor.process_outputs([step]).request_outputs
        # At once: a cumulative output shares its list of tokens with the next.
        outputs += [seen(output) for output in done]
        if not processor.has_unfinished_requests():
            break
    return outputs


def seen(output: Any) -> tuple[Any, ...]:
    return (
        output.request_id,
        output.prompt,
        output.prompt_token_ids,
        output.finished,
        output.num_cached_tokens,
        [
            (c.index, c.text, list(c.token_ids), c.finish_reason, c.stop_reason)
            for c in output.outputs
        ],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_answer_is_said_as_vllm_says_it(tokenizer: Any, kind: Any) -> None:
    params = sampling_params(kind, max_tokens=1000)
    said = asyncio.run(said_by_the_fake(tokenizer, params))
    assert said == said_by_vllm(tokenizer, params)
    assert said[-1][-1][0][3] == "stop"


pieces = st.builds(
    lambda at, size: TEXT[at : at + size],
    st.integers(0, len(TEXT) - 1),
    st.integers(1, 12),
)


@given(
    kind=st.sampled_from(KINDS),
    lengths=st.tuples(st.integers(0, 12), st.none() | st.integers(1, 40)),
    stops=st.lists(pieces, max_size=3) | st.none(),
    stop_place=st.none() | st.integers(0, 30),
    include_stop=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_every_cut_is_where_vllm_cuts(tokenizer: Any, **drawn: Any) -> None:
    """Without stop strings (``None``) the answer is not detokenized either."""
    ids = [token.token_id for token in cut(TEXT, tokenizer)]
    place, stops = drawn["stop_place"], drawn["stops"]
    min_tokens, max_tokens = drawn["lengths"]
    params = sampling_params(
        drawn["kind"],
        max_tokens=max_tokens,
        min_tokens=min(min_tokens, max_tokens or min_tokens),
        stop=stops,
        stop_token_ids=[] if place is None else [ids[place % len(ids)]],
        include_stop_str_in_output=drawn["include_stop"],
        detokenize=stops is not None,
    )
    said = asyncio.run(said_by_the_fake(tokenizer, params))
    assert said == said_by_vllm(tokenizer, params)


async def outputs_of(engine: Any, **kwargs: Any) -> list[Any]:
    params = sampling_params(kwargs.pop("kind", "DELTA"), **kwargs)
    return [output async for output in engine.generate(PROMPT, params, "r")]


async def test_several_answers_come_interleaved_and_one_at_a_time() -> None:
    texts = itertools.chain(["a b c", "d", "e f"])
    said = await outputs_of(FakeEngine(lambda request: next(texts)), n=3)
    assert [(o.outputs[0].index, o.outputs[0].text) for o in said] == [
        *[(0, "a"), (1, "d"), (2, "e")],
        *[(0, " b"), (1, ""), (2, " f")],
        *[(0, " c"), (2, "")],
        (0, ""),
    ]
    assert all(len(output.outputs) == 1 for output in said)
    assert [output.finished for output in said] == [False] * 8 + [True]


async def test_several_answers_come_together_when_only_the_end_is_wanted() -> None:
    texts = iter(["a b", "c"])
    engine = FakeEngine(lambda request: next(texts))
    (said,) = await outputs_of(engine, kind="FINAL_ONLY", n=2)
    assert said.finished
    assert [(c.index, c.text) for c in said.outputs] == [(0, "a b"), (1, "c")]


async def test_the_empty_answer_is_one_token_without_text() -> None:
    said = await outputs_of(FakeEngine(""))
    assert [(o.outputs[0].text, o.outputs[0].token_ids) for o in said] == [
        ("", [2]),
        ("", []),
    ]


@pytest.mark.parametrize(("asked", "given"), [(0, 1), (1, 1), (3, 3), (-1, 100)])
async def test_logprobs_hold_the_token_and_as_many_as_asked(
    asked: int, given: int
) -> None:
    said = await outputs_of(FakeEngine(["Par", "is"]), logprobs=asked)
    for output, text in zip(said, ["Par", "is"], strict=False):
        (completion,) = output.outputs
        (found,) = completion.logprobs
        first = found[completion.token_ids[0]]
        assert len(found) == given
        assert (first.decoded_token, first.rank) == (text, 1)
        numbers = [entry.logprob for entry in found.values()]
        assert numbers == sorted(numbers, reverse=True)
        assert [entry.rank for entry in found.values()] == list(range(1, given + 1))
        assert len({entry.decoded_token for entry in found.values()}) == given
    assert said[1].outputs[0].cumulative_logprob == -0.25


async def test_there_are_no_logprobs_unless_asked_for() -> None:
    said = await outputs_of(FakeEngine())
    assert {output.outputs[0].logprobs for output in said} == {None}
    assert {output.outputs[0].cumulative_logprob for output in said} == {None}


async def test_logprobs_of_the_prompt_come_once() -> None:
    said = await outputs_of(FakeEngine(["a", "b"]), prompt_logprobs=1)
    assert said[0].prompt_logprobs[0] is None
    assert [list(entry) for entry in said[0].prompt_logprobs[1:]] == [[4], [5]]
    assert [output.prompt_logprobs for output in said[1:]] == [[], []]


async def test_cached_tokens_are_never_more_than_the_prompt_has() -> None:
    said = await outputs_of(FakeEngine(num_cached_tokens=1000))
    assert {output.num_cached_tokens for output in said} == {3}
