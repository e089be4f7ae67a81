"""Short prompts are made on the event loop, and are the same as made in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from containers import ModelContainer, Running, running, vllm_api
from containers.errors import SettingsError
from containers.settings import PerformanceSettings
from containers.testing import CHATML, STRICT, FakeEngine, tiny_model
from tests.conftest import tiny_settings

MAX_CHARS = 300
IN_THREADS = ["safe_apply_chat_template", "_tokenize_prompt"]
"""vLLM's functions for a conversation's prompt that it calls in a thread."""
TEMPLATE = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system", "developer"]),
            "content": st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
            | st.just([{"type": "text", "text": "part"}]),
        }
    ),
    min_size=1,
    max_size=4,
)


class Prompts:
    """A model over a double, and what its renderer did in threads."""

    def __init__(self, model: Running) -> None:
        self.model = model
        self.in_threads: list[str] = []
        executor = model.renderer._executor
        submit = executor.submit

        def noting(call: Any, *args: Any, **kw: Any) -> Any:
            self.in_threads.append(getattr(call, "func", call).__name__)
            return submit(call, *args, **kw)

        executor.submit = noting

    async def chat(self, *messages: dict[str, Any], **fields: Any) -> Any:
        """Ids that reach the engine, or the error that its client is told."""
        request = vllm_api.ChatCompletionRequest(
            messages=messages, max_tokens=1, **fields
        )
        try:
            answer = await self.model.serving_chat.create_chat_completion(request)
        except (ValueError, vllm_api.VLLMValidationError) as error:
            return str(error)
        if not hasattr(answer, "choices"):
            return answer.error.message
        return list(self.model.engine.requests[-1].prompt_token_ids)

    async def completion(self, prompt: Any, **fields: Any) -> list[int]:
        request = vllm_api.CompletionRequest(prompt=prompt, max_tokens=1, **fields)
        await self.model.serving_completion.create_completion(request)
        return list(self.model.engine.requests[-1].prompt_token_ids)


@asynccontextmanager
async def prompts(
    folder: Path, *, max_chars: int = MAX_CHARS, **chat: Any
) -> AsyncIterator[Prompts]:
    container = ModelContainer(
        settings=tiny_settings(folder, **chat),
        performance=PerformanceSettings(short_prompt_max_chars=max_chars),
    )
    container.engine.override(FakeEngine("Paris."))
    async with running(container) as model:
        yield Prompts(model)


@pytest.fixture(scope="module")
def here_and_in_threads(
    tiny_folder: Path,
) -> Iterator[tuple[asyncio.Runner, list[Prompts]]]:
    """A loop, and the same model twice, which makes short prompts here or there."""
    with asyncio.Runner() as runner:
        contexts = [prompts(tiny_folder, max_chars=n) for n in (MAX_CHARS, 0)]
        yield runner, [runner.run(context.__aenter__()) for context in contexts]
        for context in reversed(contexts):
            runner.run(context.__aexit__(None, None, None))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


@given(messages=MESSAGES)
@settings(max_examples=60, deadline=None)
def test_a_prompt_is_the_same_wherever_it_is_made(
    here_and_in_threads: tuple[asyncio.Runner, list[Prompts]],
    messages: list[dict[str, Any]],
) -> None:
    runner, both = here_and_in_threads
    text = str(messages[0]["content"]) or "a"
    here, in_threads = (
        [runner.run(each.chat(*messages)), runner.run(each.completion(text))]
        for each in both
    )
    assert here == in_threads


async def test_a_short_prompt_needs_no_thread_and_a_long_one_does(
    tiny_folder: Path,
) -> None:
    async with prompts(tiny_folder) as made:
        await made.chat(user("a" * 50))
        await made.completion("a" * MAX_CHARS, truncate_prompt_tokens=8)
        assert made.in_threads == []
        await made.chat(user("a" * (MAX_CHARS + 1)), truncate_prompt_tokens=8)
        assert made.in_threads == IN_THREADS
        await made.completion("a" * (MAX_CHARS + 1), truncate_prompt_tokens=8)
        assert made.in_threads == [*IN_THREADS, IN_THREADS[1]]


async def test_whatever_a_template_is_given_counts(tiny_folder: Path) -> None:
    parameters = {"type": "object", "properties": {"a" * MAX_CHARS: {}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    long: list[dict[str, Any]] = [
        {"tools": [tool], "tool_choice": "none"},
        {"documents": [{"text": "a" * MAX_CHARS}]},
        {"chat_template_kwargs": {"items": [0] * MAX_CHARS}},
        {"chat_template_kwargs": {"text": "a" * MAX_CHARS}},
    ]
    async with prompts(tiny_folder) as made:
        for fields in long:
            made.in_threads.clear()
            await made.chat(user("a"), **fields)
            assert IN_THREADS[0] in made.in_threads
        made.in_threads.clear()
        await made.chat(*[user("")] * 10)
        assert IN_THREADS[0] in made.in_threads, "many messages are long"
        made.in_threads.clear()
        await made.completion([""] * 10)
        assert made.in_threads == [IN_THREADS[1]] * 10, "so are many prompts"


@pytest.mark.parametrize("max_chars", [MAX_CHARS, 0])
async def test_media_are_refused_as_from_a_thread(
    tiny_folder: Path, max_chars: int
) -> None:
    url = {"url": "data:image/png;base64,AAAA"}
    async with prompts(tiny_folder, max_chars=max_chars) as made:
        told = await made.chat(user([{"type": "image_url", "image_url": url}]))
    assert "not a multimodal model" in told


async def test_templates_of_requests_keep_to_threads(tiny_folder: Path) -> None:
    async with prompts(tiny_folder, trust_request_chat_template=True) as made:
        await made.chat(user("a"), chat_template=TEMPLATE)
    assert made.in_threads[0] == IN_THREADS[0]


async def test_a_template_of_the_servers_does_not(tiny_folder: Path) -> None:
    async with prompts(tiny_folder, template=CHATML) as made:
        await made.chat(user("a"))
    assert made.in_threads == []


async def test_a_templates_refusal_is_told_as_from_a_thread(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path, chat_template=STRICT)
    told = []
    for max_chars in (MAX_CHARS, 0):
        async with prompts(folder, max_chars=max_chars) as made:
            told.append(await made.chat(user("a"), user("b")))
    assert "alternate" in told[0]
    assert told[0] == told[1]


async def test_with_none_short_vllms_renderer_is_left_alone(tiny_folder: Path) -> None:
    async with prompts(tiny_folder, max_chars=0) as made:
        assert not hasattr(made.model.renderer, "short_prompts")
        await made.completion("a")
    assert made.in_threads == [IN_THREADS[1]]


@pytest.mark.parametrize("value", [-1, "100", 2.5, None])
def test_the_setting_takes_whole_numbers_from_0(value: Any) -> None:
    with pytest.raises(SettingsError, match="short_prompt_max_chars"):
        PerformanceSettings(short_prompt_max_chars=value)
