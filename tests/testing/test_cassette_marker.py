"""The cassette marker, as a user's test has it: record with an engine, then replay."""

from __future__ import annotations

import asyncio
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

QUESTION: Any = {
    "messages": [{"role": "user", "content": "Where?"}],
    "temperature": 0,
}


class Item:
    """A test as the plugin sees it, in a folder of its own."""

    def __init__(self, folder: Path, name: str, mode: str) -> None:
        self.name, self.path, self.node, self.config = name, folder / "t.py", self, self
        self._mode = mode

    def getoption(self, name: str) -> str:
        assert name == "--vllm-di-record"
        return self._mode

    def getfixturevalue(self, name: str) -> Any:
        return {"serving_settings": None, "_serving_session": RealEngines()}[name]


class RealEngines(SharedSession):
    """A session whose real engine is none."""

    def __init__(self) -> None:
        """Start no loop."""

    def real_engine(self, settings: Any) -> Any:
        return FakeEngine("really")


def engine(folder: Path, mode: str, *args: Any, **kwargs: Any) -> Any:
    from pytest_vllm_di import _cassette  # pytest loads it first

    item: Any = Item(folder, "test_a[x/y-1]", mode)
    marker = pytest.mark.cassette(*args, **kwargs).mark
    return _cassette(item, marker)


async def say(engine: Any) -> str:
    from containers import vllm_api

    params = vllm_api.SamplingParams()
    prompt = {"prompt": "Where?", "prompt_token_ids": [1]}
    outputs = [each async for each in engine.generate(prompt, params, "r")]
    return str(outputs[-1].outputs[0].text)


@pytest.mark.parametrize("mode", ["once", "new", "all"])
async def test_what_is_recorded_once_is_replayed_ever_after(
    tmp_path: Path, mode: str
) -> None:
    said = await say(engine(tmp_path, mode))
    assert said == "really"
    assert await say(engine(tmp_path, "none")) == said
    assert len(tape.read(tmp_path / "cassettes" / "t" / "test_a_x_y-1_.jsonl")) == 1


async def test_once_does_not_touch_the_real_engine_again(tmp_path: Path) -> None:
    await say(engine(tmp_path, "once"))
    assert not hasattr(engine(tmp_path, "once"), "_engine")
    assert hasattr(engine(tmp_path, "new"), "_engine")


def test_the_path_is_beside_the_test(tmp_path: Path) -> None:
    with pytest.raises(CassetteError) as caught:
        engine(tmp_path, "none", "shared/one.jsonl", delays=True)
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
