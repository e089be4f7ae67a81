"""The cassette marker, as a user's test has it: record with an engine, then replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytest_vllm_di
from containers.errors import CassetteError
from containers.testing import FakeEngine
from containers.testing.cassettes import tape
from containers.testing.session import TestingSession

pytest_plugins = ["pytest_vllm_di"]

QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "temperature": 0}
CHATS = "/v1/chat/completions"


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


class RealEngines(TestingSession):
    """A session whose real engine is none."""

    def __init__(self) -> None:
        self.started = 0

    def real_engine(self, settings: Any) -> Any:
        return FakeEngine("really")


def engine(folder: Path, mode: str, *args: Any, **kwargs: Any) -> Any:
    item: Any = Item(folder, "test_a[x/y-1]", mode)
    marker = pytest.mark.cassette(*args, **kwargs).mark
    return pytest_vllm_di._cassette(item, marker)


async def say(engine: Any) -> str:
    from containers import vllm_api

    params = vllm_api.SamplingParams()
    prompt = {"prompt": "Where?", "prompt_token_ids": [1]}
    return "".join([o.outputs[0].text async for o in engine.generate(prompt, params, "r")])


@pytest.mark.parametrize("mode", ["once", "new", "all"])
async def test_what_is_recorded_once_is_replayed_ever_after(
    tmp_path: Path, mode: str
) -> None:
    said = await say(engine(tmp_path, mode))
    assert said.endswith("really")
    assert await say(engine(tmp_path, "none")) == said
    (file,) = tmp_path.rglob("*.jsonl")
    assert file == tmp_path / "cassettes" / "t" / "test_a_x_y-1_.jsonl"


async def test_once_does_not_touch_the_real_engine_again(tmp_path: Path) -> None:
    await say(engine(tmp_path, "once"))
    assert not hasattr(engine(tmp_path, "once"), "_engine")
    assert hasattr(engine(tmp_path, "new"), "_engine")


def test_the_path_is_beside_the_test(tmp_path: Path) -> None:
    with pytest.raises(CassetteError) as caught:
        engine(tmp_path, "none", "shared/one.jsonl", delays=True)
    assert caught.value.path == str(tmp_path / "shared" / "one.jsonl")


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The cassette of this test, written before the plugin looks for it."""
    path = pytest_vllm_di._cassette_path(request)
    tape.rewrite(path, *ENTRIES)
    yield path
    path.unlink()
    path.parent.rmdir()
    path.parent.parent.rmdir()


PARAMS = {"temperature": 0.0, "max_tokens": 2048}
ENTRIES: list[Any] = []
