"""A chat over HTTP with the ``openai`` client, as people write it."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.engine.corpus.sample import FRANCE, MODEL, TIMEOUT_S

pytestmark = pytest.mark.engine

ANSWER = "The capital of France is Paris."
LONG = [{"role": "user", "content": "word " * 3000}]


@pytest.fixture(scope="module")
def client(our_server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{our_server}/v1", api_key="none", timeout=TIMEOUT_S, max_retries=0
    ) as client:
        yield client


def ask(client: openai.OpenAI, **options: object) -> openai.types.chat.ChatCompletion:
    request = {"model": MODEL, "messages": FRANCE, "temperature": 0} | options
    return client.chat.completions.create(**request)  # type: ignore[call-overload, no-any-return]  # options vary


def ask_for_stream(
    client: openai.OpenAI, **options: object
) -> list[openai.types.chat.ChatCompletionChunk]:
    return list(ask(client, stream=True, **options))  # type: ignore[arg-type]  # a stream


def test_the_capital_of_france_is_paris(client: openai.OpenAI) -> None:
    completion = ask(client)
    (choice,) = completion.choices
    assert choice.message.content == ANSWER
    assert choice.message.role == "assistant"
    assert choice.finish_reason == "stop"
    assert completion.model == MODEL
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 8
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + 8


def test_a_stream_brings_the_same_answer_in_pieces(client: openai.OpenAI) -> None:
    chunks = ask_for_stream(client)
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
    assert "".join(pieces) == ANSWER
    assert sum(bool(piece) for piece in pieces) > 2
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


def test_a_stream_ends_with_its_usage_when_asked_to(client: openai.OpenAI) -> None:
    *chunks, last = ask_for_stream(client, stream_options={"include_usage": True})
    assert all(chunk.usage is None for chunk in chunks)
    assert last.choices == []
    assert last.usage == ask(client).usage


def test_two_answers_differ_and_repeat_with_their_seed(client: openai.OpenAI) -> None:
    def two() -> list[str | None]:
        choices = ask(client, n=2, temperature=1.0, seed=3, max_tokens=8).choices
        assert [choice.index for choice in choices] == [0, 1]
        return [choice.message.content for choice in choices]

    first = two()
    assert first[0] != first[1]
    assert two() == first


def test_logprobs_rank_the_chosen_token_first(client: openai.OpenAI) -> None:
    completion = ask(client, logprobs=True, top_logprobs=3)
    logprobs = completion.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert "".join(token.token for token in logprobs.content[:-1]) == ANSWER
    for token in logprobs.content:
        best = [alternative.logprob for alternative in token.top_logprobs]
        assert len(best) == 3
        assert best == sorted(best, reverse=True)
        assert token.logprob == best[0] <= 0


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_answer_before_itself(
    client: openai.OpenAI, stream: bool
) -> None:
    if stream:
        chunks = ask_for_stream(client, stop=[" Paris"])
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        reason = chunks[-1].choices[0].finish_reason
    else:
        (choice,) = ask(client, stop=[" Paris"]).choices
        text, reason = choice.message.content or "", choice.finish_reason
    assert (text, reason) == ("The capital of France is", "stop")


def test_the_model_is_listed(client: openai.OpenAI) -> None:
    models = client.models.list().data
    assert [model.id for model in models] == [MODEL, "minilm"]
    assert {model.object for model in models} == {"model"}


@pytest.mark.parametrize("stream", [False, True])
def test_an_unknown_model_is_not_found(client: openai.OpenAI, stream: bool) -> None:
    with pytest.raises(openai.NotFoundError, match="gpt-4") as caught:
        ask(client, model="gpt-4", stream=stream)
    assert caught.value.param == "model"
    assert caught.value.type == "NotFoundError"


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_too_long_is_a_bad_request(
    client: openai.OpenAI, stream: bool
) -> None:
    with pytest.raises(openai.BadRequestError, match="2048 tokens") as caught:
        ask(client, messages=LONG, stream=stream)
    assert caught.value.param == "input_tokens"
    assert caught.value.response.headers["content-type"] == "application/json"


def test_an_unreadable_value_is_a_bad_request(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, temperature="hot")
    assert caught.value.param == "body.temperature"


def test_tokens_are_counted_as_the_prompt_is(
    client: openai.OpenAI, our_server: str
) -> None:
    counted = client.post(
        f"{our_server}/tokenize", body={"messages": FRANCE}, cast_to=object
    )
    assert isinstance(counted, dict)
    usage = ask(client, max_tokens=1).usage
    assert usage is not None
    assert counted["count"] == usage.prompt_tokens
