"""vLLM's serving objects over the fake engine: all but the engine is real."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from dependency_injector.containers import Container

from containers import ModelContainer, running, vllm_api
from containers.errors import InjectionError
from containers.testing import TOOL_USE, FakeEngine, tiny_model
from tests.conftest import tiny_settings

MESSAGES = [{"role": "user", "content": "Where?"}]
TOOL = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def container(new_container: Callable[[], Container]) -> Container:
    return new_container()


async def chat(container: Container, engine: FakeEngine, **fields: Any) -> Any:
    container.engine.override(engine)
    request = vllm_api.ChatCompletionRequest(model="tiny", messages=MESSAGES, **fields)
    async with running(container, "serving_chat") as model:
        answer = await model.serving_chat.create_chat_completion(request)
        if isinstance(answer, AsyncIterator):
            return [json.loads(c[6:]) async for c in answer if "[DONE]" not in c]
        return answer


async def completion(container: Container, engine: FakeEngine, **fields: Any) -> Any:
    container.engine.override(engine)
    request = vllm_api.CompletionRequest(model="tiny", **fields)
    async with running(container, "serving_completion") as model:
        return await model.serving_completion.create_completion(request)


async def test_chat_counts_the_scripts_tokens(container: Container) -> None:
    engine = FakeEngine(["Par", "is", "."])
    answer = await chat(container, engine)
    (request,) = engine.requests
    assert answer.choices[0].message.content == "Paris."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.completion_tokens == 3
    assert answer.usage.prompt_tokens == len(request.prompt_token_ids)
    assert request.prompt == (
        "<|im_start|>user\nWhere?<|im_end|>\n<|im_start|>assistant\n"
    )


async def test_a_chat_streams_token_by_token_for_every_answer(
    container: Container,
) -> None:
    texts = iter(["a b", "c"])
    chunks = await chat(
        container,
        FakeEngine(lambda request: next(texts)),
        n=2,
        stream=True,
        stream_options={"include_usage": True},
    )
    said = [
        (choice["index"], choice["delta"].get("content"), choice["finish_reason"])
        for chunk in chunks
        for choice in chunk["choices"]
    ]
    assert said == [
        *[(0, "", None), (1, "", None)],
        *[(0, "a", None), (1, "c", None)],
        *[(0, " b", None), (1, "", "stop")],
        (0, "", "stop"),
    ]
    assert chunks[-1]["usage"]["completion_tokens"] == 3


async def test_an_empty_answer_is_an_answer(container: Container) -> None:
    answer = await chat(container, FakeEngine(""))
    assert answer.choices[0].message.content == ""
    chunks = await chat(container, FakeEngine(""), stream=True)
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_scripted_tool_call_is_parsed(tmp_path: Path, *, stream: bool) -> None:
    settings = tiny_settings(
        tiny_model(tmp_path, chat_template=TOOL_USE),
        enable_auto_tool_choice=True,
        tool_call_parser="hermes",
    )
    call = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    answer = await chat(
        ModelContainer(settings=settings),
        FakeEngine(call),
        tools=[TOOL],
        tool_choice="auto",
        stream=stream,
    )
    if stream:
        deltas = [chunk["choices"][0]["delta"] for chunk in answer]
        calls = [c["function"] for d in deltas for c in d.get("tool_calls", ())]
        assert calls[0]["name"] == "add"
        arguments = "".join(function.get("arguments", "") for function in calls)
        reason = answer[-1]["choices"][0]["finish_reason"]
    else:
        (choice,) = answer.choices
        arguments = choice.message.tool_calls[0].function.arguments
        reason = choice.finish_reason
    assert json.loads(arguments) == {"a": 1}
    assert reason == "tool_calls"


async def test_a_completion_echoes_its_prompt_with_logprobs(
    container: Container,
) -> None:
    answer = await completion(
        container, FakeEngine("a b"), prompt="hi", echo=True, logprobs=1, max_tokens=2
    )
    (choice,) = answer.choices
    assert choice.text == "hia b"
    assert "".join(choice.logprobs.tokens) == "hia b"
    assert choice.logprobs.token_logprobs[0] is None
    assert choice.finish_reason == "length"


async def test_beam_search_runs(container: Container) -> None:
    answer = await completion(
        container,
        FakeEngine("a b c"),
        prompt="hi",
        use_beam_search=True,
        n=2,
        max_tokens=3,
        temperature=0,
    )
    assert len(answer.choices) == 2


@pytest.mark.parametrize(
    ("engine", "error"),
    [
        (lambda: FakeEngine(fails=KeyError("boom")), "EngineGenerateError"),
        (lambda: FakeEngine(dies_after_tokens=0), "EngineDeadError"),
        (lambda: FakeEngine(max_num_queued_reqs=0), "QueueOverflowError"),
    ],
)
async def test_what_fails_in_the_engine_reaches_the_caller(
    container: Container, engine: Callable[[], FakeEngine], error: str
) -> None:
    with pytest.raises(getattr(vllm_api, error)):
        await chat(container, engine())


async def test_a_script_gone_wrong_teaches_in_the_answer(container: Container) -> None:
    with pytest.raises(InjectionError, match="a callable that returned None"):
        await chat(container, FakeEngine(lambda request: None))
