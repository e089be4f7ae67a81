"""The serving fakes answer in the shape of vLLM's serving objects, without them."""

from __future__ import annotations

import base64
import json
import math
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from containers import ModelContainer, running
from containers.errors import InjectionError, NotReadyError
from containers.lifecycle import Resource
from containers.testing import (
    FakeServingChat,
    FakeServingCompletion,
    FakeServingEmbedding,
    FakeServingTokenization,
    fake_container,
)


def chat_request(**fields: Any) -> Any:
    messages = [{"role": "user", "content": "What is it?"}]
    return SimpleNamespace(messages=messages, **fields)


async def events(answer: Any) -> list[Any]:
    *lines, done = [event async for event in answer]
    assert done == "data: [DONE]\n\n"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def test_a_chat_is_answered() -> None:
    chat = FakeServingChat("It is blue.")
    request = chat_request(model="mine", n=2)
    answer = await chat.create_chat_completion(request)
    assert [choice.message.content for choice in answer.choices] == ["It is blue."] * 2
    assert (answer.object, answer.model) == ("chat.completion", "mine")
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (3, 8)
    assert chat.requests == [request]


async def test_a_chat_is_streamed_token_by_token() -> None:
    chat = FakeServingChat(["It", " is"])
    options = {"include_usage": True}
    found = await events(
        await chat.create_chat_completion(
            chat_request(stream=True, stream_options=options)
        )
    )
    *chunks, usage = found
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert [delta["content"] for delta in deltas] == ["It", " is", ""]
    assert [delta.get("role") for delta in deltas] == ["assistant", None, None]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert usage["usage"]["completion_tokens"] == 2


async def test_a_completion_is_answered_and_streamed() -> None:
    completion = FakeServingCompletion(lambda request: request.prompt.upper())
    answer = await completion.create_completion(SimpleNamespace(prompt="blue"))
    assert answer.choices[0].text == "BLUE"
    streamed = SimpleNamespace(prompt="a b", stream=True)
    chunks = await events(await completion.create_completion(streamed))
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "A B"


async def test_a_fake_fails_when_told_to() -> None:
    error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await FakeServingChat(fails=error).create_chat_completion(chat_request())
    with pytest.raises(ValueError, match="no"):
        await embedded(FakeServingEmbedding(fails=error), input="a")
    streamed = await FakeServingChat(["a", error]).create_chat_completion(
        chat_request(stream=True)
    )
    assert "a" in await anext(streamed)
    with pytest.raises(ValueError, match="no"):
        await anext(streamed)


async def embedded(embedding: FakeServingEmbedding, **fields: Any) -> Any:
    answer = await embedding(SimpleNamespace(**fields))
    assert answer.media_type == "application/json"
    return json.loads(answer.body)


async def test_equal_inputs_have_equal_vectors_of_length_1() -> None:
    embedding = FakeServingEmbedding()
    body = await embedded(embedding, input=["a b", "c", "a b"], model="mine")
    vectors = [each["embedding"] for each in body["data"]]
    assert [each["index"] for each in body["data"]] == [0, 1, 2]
    assert vectors[0] == vectors[2] != vectors[1]
    assert [len(vector) for vector in vectors] == [8] * 3
    assert math.isclose(math.hypot(*vectors[0]), 1)
    assert (body["object"], body["model"]) == ("list", "mine")
    assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"] == 5
    assert embedding.requests[0].input == ["a b", "c", "a b"]


@pytest.mark.parametrize(
    ("given", "n_vectors"),
    [("a", 1), (["a"], 1), ([1, 2], 1), ([[1, 2], [3]], 2)],
)
async def test_an_input_is_a_text_or_tokens_alone_or_several(
    given: Any, n_vectors: int
) -> None:
    body = await embedded(FakeServingEmbedding(), input=given)
    assert len(body["data"]) == n_vectors


async def test_what_is_said_has_one_vector() -> None:
    embedding = FakeServingEmbedding()
    said = await embedding(chat_request())
    body = await embedded(embedding, input="What is it?")
    assert json.loads(said.body)["data"] == body["data"]


async def test_vectors_come_in_base64_and_in_dimensions() -> None:
    fields = {"input": "a", "encoding_format": "base64", "dimensions": 3}
    body = await embedded(FakeServingEmbedding([1, 2, 3, 4]), **fields)
    packed = base64.b64decode(body["data"][0]["embedding"])
    assert struct.unpack("<3f", packed) == (1.0, 2.0, 3.0)
    made = await embedded(FakeServingEmbedding(), input="a", dimensions=384)
    assert math.isclose(math.hypot(*made["data"][0]["embedding"]), 1)


async def test_vectors_may_depend_on_the_input() -> None:
    async def slow(text: Any) -> list[float]:
        return [len(text)]

    for vectors in (slow, lambda text: [len(text)]):
        body = await embedded(FakeServingEmbedding(vectors), input=["a", "bc"])
        assert [each["embedding"] for each in body["data"]] == [[1.0], [2.0]]


@pytest.mark.parametrize("nonsense", ["a", 1, [], [[1.0]], {"a": 1.0}])
async def test_what_is_no_vector_is_refused(nonsense: Any) -> None:
    with pytest.raises(InjectionError, match=r"FakeServingEmbedding\(vectors=\.\.\.\)"):
        FakeServingEmbedding(nonsense)
    with pytest.raises(InjectionError, match="takes a list of numbers or a callable"):
        await embedded(FakeServingEmbedding(lambda _: nonsense), input="a")


def test_what_is_no_script_is_refused_at_once() -> None:
    with pytest.raises(InjectionError, match="an empty list"):
        FakeServingChat([])


async def test_tokens_are_bytes() -> None:
    tokenization = FakeServingTokenization(max_model_len=9)
    request = SimpleNamespace(prompt="Zoë", return_token_strs=True)
    found = await tokenization.create_tokenize(request)
    assert (found.count, found.max_model_len) == (4, 9)
    assert found.token_strs == ["Z", "o", "Ã", "«"]
    text = await tokenization.create_detokenize(SimpleNamespace(tokens=found.tokens))
    assert text.prompt == "Zoë"
    assert (await tokenization.create_tokenize(chat_request())).count == 11


async def test_a_fake_container_loads_what_is_asked_for_and_unloads_it() -> None:
    chat = FakeServingChat()
    container = fake_container(name="mine", serving_chat=chat)
    async with running(container) as model:
        assert model.serving_chat is chat
        assert model.models.names == ("mine",)
        assert model.tokenizer.decode(model.tokenizer.encode("a")) == "a"
        await model.engine.check_health()
        with pytest.raises(
            AttributeError, match=r"fake_container\(engine=...\).*asked for generate"
        ):
            model.engine.generate  # noqa: B018
    with pytest.raises(NotReadyError):
        container.serving_chat()


async def test_two_fake_containers_share_nothing() -> None:
    async with running(fake_container()) as one, running(fake_container()) as other:
        assert one.serving_chat is not other.serving_chat
        assert one.engine is not other.engine


async def test_what_a_container_of_ones_own_adds_is_absent_or_given() -> None:
    def unreachable(**_: Any) -> Any:
        pytest.fail("a real builder was called")

    class Own(ModelContainer):
        reranker = Resource(unreachable, engine=ModelContainer.engine)
        judge = Resource(unreachable, renderer=ModelContainer.renderer)

    container = fake_container(container_class=Own, judge="a judge")
    async with running(container) as model:
        assert model.judge == "a judge"
        with pytest.raises(AttributeError, match=r"fake_container\(reranker=...\)"):
            model.reranker.rank  # noqa: B018
        with pytest.raises(AttributeError, match=r"fake_container\(reranker=...\)"):
            model.reranker("called")


async def test_every_serving_object_is_there_or_says_that_it_is_absent() -> None:
    container = fake_container()
    async with running(container) as model:
        names = [name for name in container.providers if name.startswith("serving_")]
        for name in names:
            double = getattr(model, name)
            if not hasattr(double, "requests"):
                with pytest.raises(AttributeError, match=f"fake_container.{name}="):
                    double()
        fakes = [n for n in names if hasattr(getattr(model, n), "requests")]
    assert {"serving_chat", "serving_completion", "serving_tokenization"} <= {*fakes}
