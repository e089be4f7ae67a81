"""The cassette marker, as a user's test has it: record with an engine, then replay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, InternalServerError

from app import create_app
from containers import ModelSettings
from containers.errors import CassetteError
from containers.testing import FakeEngine, RecordingEngine, override
from containers.testing.cassettes import tape
from containers.testing.session import SharedSession

pytest_plugins = ["pytest_vllm_di"]

Engine = Callable[..., Any]

QUESTION: Any = {
    "messages": [{"role": "user", "content": "Where?"}],
    "temperature": 0,
}


class Item:
    """A test as the plugin sees it, in a folder and a session of its own."""

    def __init__(
        self, folder: Path, mode: str, test: str, session: SharedSession
    ) -> None:
        self.nodeid, self.path = f"folder/t.py::{test}", folder / "t.py"
        self.node, self.config = self, self
        self._mode = mode
        self._fixtures = {"serving_settings": None, "_serving_session": session}

    def getoption(self, name: str) -> str:
        assert name == "--vllm-di-record"
        return self._mode

    def getfixturevalue(self, name: str) -> Any:
        return self._fixtures[name]


@pytest.fixture
def new_session(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., SharedSession]]:
    """Makes sessions whose real engine is none."""
    sessions = []

    def new_session(says: str = "really") -> SharedSession:
        session = SharedSession()
        monkeypatch.setattr(session, "real_engine", lambda _: FakeEngine(says))
        sessions.append(session)
        return session

    yield new_session
    for session in sessions:
        session.close()


@pytest.fixture
def engine(tmp_path: Path, new_session: Callable[..., SharedSession]) -> Engine:
    """Gives the engine of a marked test."""

    def engine(
        mode: str,
        *args: Any,
        session: SharedSession | None = None,
        test: str = "test_a[x/y-1]",
        **kwargs: Any,
    ) -> Any:
        from pytest_vllm_di import _cassette  # pytest loads it first

        item: Any = Item(tmp_path, mode, test, session or new_session())
        marker = pytest.mark.cassette(*args, **kwargs).mark
        return _cassette(item, marker)

    return engine


async def say(engine: Any, words: str = "Where?") -> str:
    from containers import vllm_api

    params = vllm_api.SamplingParams()
    prompt = {"prompt": words, "prompt_token_ids": [*words.encode()]}
    outputs = [each async for each in engine.generate(prompt, params, "r")]
    return str(outputs[-1].outputs[0].text)


@pytest.mark.parametrize("mode", ["once", "new", "all"])
async def test_what_is_recorded_once_is_replayed_ever_after(
    engine: Engine, tmp_path: Path, mode: str
) -> None:
    said = await say(engine(mode))
    assert said == "really"
    assert await say(engine("none")) == said
    assert len(tape.read(tmp_path / "cassettes" / "t" / "test_a_x_y-1_.jsonl")) == 1


async def test_once_does_not_touch_the_real_engine_again(engine: Engine) -> None:
    await say(engine("once"))
    assert not hasattr(engine("once"), "_engine")
    assert hasattr(engine("new"), "_engine")


@pytest.mark.parametrize("mode", ["once", "new", "all"])
async def test_tests_that_share_a_cassette_record_it_together(
    engine: Engine,
    tmp_path: Path,
    new_session: Callable[..., SharedSession],
    mode: str,
) -> None:
    for says in ("at first", "anew"):
        session = new_session(says)
        for test in ("test_a", "test_b", "test_a"):
            asked = engine(mode, "shared.jsonl", session=session, test=test)
            await say(asked, f"{test}?")
    prompts = [each.request["prompt"] for each in tape.read(tmp_path / "shared.jsonl")]
    assert prompts == ["test_a?", "test_b?"]
    expected = "anew" if mode == "all" else "at first"
    assert await say(engine("none", "shared.jsonl"), "test_b?") == expected


async def test_tests_of_two_classes_have_two_cassettes(
    engine: Engine, tmp_path: Path
) -> None:
    for name in ("TestOne", "TestTwo"):
        await say(engine("once", test=f"{name}::test_a"))
    files = (tmp_path / "cassettes" / "t").iterdir()
    assert sorted(each.stem for each in files) == ["TestOne_test_a", "TestTwo_test_a"]


@pytest.mark.parametrize("mode", ["once", "new", "all"])
def test_recording_in_a_worker_of_xdist_is_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(Item, "workerinput", {}, raising=False)
    with pytest.raises(pytest.fail.Exception, match="without xdist"):
        engine(mode)
    with pytest.raises(CassetteError):
        engine("none")


def test_the_path_is_beside_the_test(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(CassetteError) as caught:
        engine("none", "shared/one.jsonl", delays=True)
    assert caught.value.path == str(tmp_path / "shared" / "one.jsonl")


@pytest.fixture
def recorded(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    serving_settings: ModelSettings,
    _serving_session: SharedSession,
) -> None:
    """Record the question with an engine, and mark the test with its cassette."""
    path = tmp_path / "asked.jsonl"
    engine = RecordingEngine(FakeEngine(["It is", " here."]), path)
    container = _serving_session.container(serving_settings)
    with override(container, engine=engine):
        app = create_app(container)
        with _serving_session.serving(app, container) as (transport, _):
            client = httpx.AsyncClient(transport=transport, base_url="http://test")
            asyncio.run(client.post("/v1/chat/completions", json=QUESTION))
    request.node.add_marker(pytest.mark.cassette(path))


@pytest.mark.usefixtures("recorded")
async def test_a_marked_test_is_answered_from_its_cassette(
    openai_client: AsyncOpenAI,
) -> None:
    completions = openai_client.chat.completions
    answer = await completions.create(model="tiny", **QUESTION)
    assert answer.choices[0].message.content == "It is here."
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 2


@pytest.mark.usefixtures("recorded")
async def test_another_question_is_refused_with_the_nearest(
    openai_client: AsyncOpenAI,
) -> None:
    changed = QUESTION | {"temperature": 0.5}
    with pytest.raises(InternalServerError, match=r"recorded 0\.0, asked 0\.5"):
        await openai_client.chat.completions.create(model="tiny", **changed)


async def test_without_a_marker_a_fake_engine_answers(
    serving_client: httpx.AsyncClient, serving_engine: Any
) -> None:
    answer = await serving_client.post("/v1/chat/completions", json=QUESTION)
    assert answer.json()["choices"][0]["message"]["content"] == "Paris."
    assert serving_engine.requests[0].prompt.endswith("assistant\n")
