"""Streams are the same byte by byte, whether their chunks are spliced or not."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
from collections import ChainMap
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from containers import ModelContainer, Running, running, vllm_api
from containers.request_record import RequestRecord, current_request
from containers.testing import FakeEngine, Token
from containers.vllm_api.splicing import stream
from containers.vllm_api.splicing.frame import Frame
from tests.conftest import tiny_settings

N_EXAMPLES = int(os.environ.get("VLLM_DI_EXAMPLES", "50"))

CREATED = re.compile(r'"created":\d+')
TEXTS = [
    " Paris",
    'quo"te',
    "back\\slash",
    "\n\t\r\b\f\x00\x1f\x7f",
    "é\u2028\u2029東京\U0001f600",
    "",
    "\ud83d",
    "data: [DONE]\n\n",
    '"delta":{"content":"x"}',
]
ODD = st.text(st.characters(), max_size=4) | st.sampled_from(TEXTS)
TOKENS = st.builds(Token, ODD, st.integers(0, 300))
ITEMS = TOKENS | st.builds(RuntimeError, st.just("broken"))
Fields = st.SearchStrategy[dict[str, Any]]
STREAM_OPTIONS: Fields = st.sampled_from(
    [
        {},
        {"stream_options": {"include_usage": True}},
        {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
    ]
)
ENDS = st.fixed_dictionaries(
    {"max_tokens": st.integers(1, 12)},
    optional={"stop": st.sampled_from(["a", "is", '"'])},
)
UNUSUAL: Fields = st.sampled_from(
    [{}] * 6
    + [
        {"n": 2},
        {"return_token_ids": True},
        {"echo": True},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]},
    ]
)


def merged(*fields: Fields) -> Any:
    """One request's fields of several strategies."""
    return st.tuples(*fields).map(lambda each: dict(ChainMap(*each)))


CHAT_LOGPROBS: Fields = st.sampled_from(
    [{}] * 4 + [{"logprobs": True, "top_logprobs": 2}]
)
LOGPROBS: Fields = st.sampled_from([{}] * 4 + [{"logprobs": 1}, {"prompt": ["a", "b"]}])


class Both:
    """A model's serving objects with splicing and without, over one engine."""

    def __init__(self, model: Running) -> None:
        self.engine = _Exchanged()
        self.counted: list[tuple[Any, ...]] = []
        names = ("models", "tokenizer", "chat_template", "online_renderer")
        injected = {name: getattr(model, name) for name in names}
        injected |= {"vllm_config": model.vllm_config, "settings": model.settings.chat}
        self.chats = [
            type(model.serving_chat)(engine=self.engine, fast_streams=fast, **injected)
            for fast in (True, False)
        ]
        self.completions = [
            type(model.serving_completion)(
                engine=self.engine, fast_streams=fast, **injected
            )
            for fast in (True, False)
        ]

    @contextmanager
    def over(self, engine: Any) -> Iterator[None]:
        """Let another engine than the double answer meanwhile."""
        self.engine.instead = engine
        yield
        self.engine.instead = None

    async def chat(self, script: Any, **fields: Any) -> list[list[str]]:
        message = {"role": "user", "content": "hello"}
        body = {"messages": [message], "stream": True, "request_id": "r"} | fields
        return [
            await self._events(script, each.create_chat_completion, request)
            for each in self.chats
            for request in [vllm_api.ChatCompletionRequest(**body)]
        ]

    async def completion(self, script: Any, **fields: Any) -> list[list[str]]:
        body = {"prompt": "a", "stream": True, "request_id": "r"} | fields
        return [
            await self._events(script, each.create_completion, request)
            for each in self.completions
            for request in [vllm_api.CompletionRequest(**body)]
        ]

    async def _events(self, script: Any, ask: Any, request: Any) -> list[str]:
        self.engine.double = FakeEngine(script)
        record = RequestRecord("POST", "/", "r")
        current_request.set(record)
        answer = await ask(request)
        if not isinstance(answer, AsyncGenerator):
            return [answer.model_dump_json()]
        events = [CREATED.sub("", event) async for event in answer]
        counted = (record.n_prompt_tokens, record.n_completion_tokens, record.finish)
        self.counted.append(counted)
        return events


class _Exchanged:
    """An engine client that is another double each time."""

    double: Any = None
    instead: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.instead or self.double, name)


class Played:
    """Both ways of serving, and the event loop they run on."""

    def __init__(self, runner: asyncio.Runner, both: Both) -> None:
        self.run = runner.run
        self.both = both

    def chat(self, script: Any, **fields: Any) -> list[list[str]]:
        events: list[list[str]] = self.run(self.both.chat(script, **fields))
        return events

    def completion(self, script: Any, **fields: Any) -> list[list[str]]:
        events: list[list[str]] = self.run(self.both.completion(script, **fields))
        return events


@pytest.fixture(scope="module")
def played(tiny_folder: Path) -> Iterator[Played]:
    container = ModelContainer(settings=tiny_settings(tiny_folder))
    container.engine.override(FakeEngine("Paris."))
    with asyncio.Runner() as runner:
        started = running(container)
        model = runner.run(started.__aenter__())
        yield Played(runner, Both(model))
        runner.run(started.__aexit__(None, None, None))


any_stream = settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@any_stream
@given(
    script=st.lists(ITEMS, min_size=1, max_size=14),
    fields=merged(STREAM_OPTIONS, ENDS, UNUSUAL, CHAT_LOGPROBS),
)
def test_a_streamed_chat_is_vllms_own(
    played: Played, script: list[Any], fields: dict[str, Any]
) -> None:
    played.both.counted.clear()
    fast, stock = played.chat(script, **fields)
    assert fast == stock
    assert len({*played.both.counted}) <= 1, "what is noted of them is the same"


@any_stream
@given(
    script=st.lists(ITEMS, min_size=1, max_size=14),
    fields=merged(STREAM_OPTIONS, ENDS, UNUSUAL, LOGPROBS),
)
def test_a_streamed_completion_is_vllms_own(
    played: Played, script: list[Any], fields: dict[str, Any]
) -> None:
    fast, stock = played.completion(script, **fields)
    if isinstance(fields.get("prompt"), list):
        # Of several prompts vLLM says first whatever comes first.
        fast, stock = sorted(fast), sorted(stock)
    assert fast == stock


@pytest.mark.parametrize("ask", [Played.chat, Played.completion])
def test_all_plain_chunks_but_two_are_spliced(
    played: Played, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spliced = []

    def around(self: Frame, escaped: str) -> str:
        spliced.append(escaped)
        return made(self, escaped)

    made = Frame.around
    monkeypatch.setattr(Frame, "around", around)
    fast, stock = ask(played, [f"{n} " for n in range(20)], max_tokens=20)
    assert fast == stock
    # One to see that the frame fits, one for each token but two and the last.
    assert len(spliced) == 1 + 20 - 3


def test_a_wrong_escape_would_be_noticed(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above can fail."""
    monkeypatch.setattr(stream, "escape", json.dumps)
    fast, stock = played.chat(["a", "b", "é", "d"], max_tokens=4)
    assert fast != stock


def test_chunks_that_differ_in_more_than_their_text_are_not_spliced() -> None:
    frame = Frame('"text":', ",")
    for number in range(5):
        frame.learn([f'{{"text":"a","n":{number}}}'], SimpleNamespace(text="a"))
        assert not frame.is_known


def test_tokens_of_an_engine_that_ends_without_a_reason_are_counted(
    played: Played,
) -> None:
    both = played.both

    class Cut:
        """Never says that it has finished."""

        def __getattr__(self, name: str) -> Any:
            return getattr(both.engine.double, name)

        async def generate(self, *args: Any, **kw: Any) -> AsyncGenerator[Any, None]:
            async for result in both.engine.double.generate(*args, **kw):
                if result.outputs[0].finish_reason is None:
                    yield result

    fields = {"stream_options": {"include_usage": True}, "max_tokens": 9}
    with both.over(Cut()):
        fast, stock = played.chat(["a"] * 9, **fields)
    assert fast == stock
    assert '"completion_tokens":8' in fast[-2]


@pytest.mark.parametrize("way", [0, 1], ids=["spliced", "vllms"])
@pytest.mark.parametrize("n_read", [0, 1, 2, 5])
def test_a_stream_that_is_left_aborts_its_generation(
    played: Played, n_read: int, way: int
) -> None:
    both = played.both
    record = RequestRecord("POST", "/", "r")

    async def leave() -> None:
        both.engine.double = FakeEngine(["a"] * 50)
        current_request.set(record)
        request = vllm_api.ChatCompletionRequest(
            messages=[{"role": "user", "content": "a"}], stream=True
        )
        events = await both.chats[way].create_chat_completion(request)
        for _ in range(n_read):
            await anext(events)
        await events.aclose()
        del events
        for _ in range(5):  # what nobody knows any more is closed by the loop
            await asyncio.sleep(0)
        assert len(both.engine.double.aborted) == bool(n_read)

    gc.disable()
    try:
        played.run(leave())
    finally:
        gc.enable()
    # The first result makes two events, one of which has no text.
    assert record.n_completion_tokens == (n_read - 1 if n_read > 1 else n_read)
