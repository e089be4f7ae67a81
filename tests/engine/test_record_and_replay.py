"""What the real engine answered, recorded, is answered again byte for byte."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import create_app
from containers import ModelSettings, Settings
from containers.testing import RecordingEngine, ReplayEngine, override
from containers.testing.cassettes import tape
from containers.testing.session import SharedSession
from tests.engine.corpus import SAMPLES, Sample
from tests.engine.servers import CONFIG

pytestmark = [pytest.mark.engine, pytest.mark.soak]

CHATS = """greedy; greedy, streamed; streamed with usage; seeded; logprobs;
streamed with continuous usage; no model named; two seeded answers;
two seeded answers, streamed; logprobs, streamed; logprobs as token ids;
logprobs of the prompt; stop string; stop string, streamed; unknown model;
prompt too long, streamed"""
COMPLETIONS = """two seeded answers; echo with logprobs; logprobs; logprobs, streamed;
stop string, streamed; stop token id; token ids; beams; JSON object"""
NAMES = [
    *(f"chat: {name.strip()}" for name in CHATS.replace("\n", " ").split(";")),
    *(
        f"completion: {name.strip()}"
        for name in COMPLETIONS.replace("\n", " ").split(";")
    ),
]
CHOSEN = {sample.name: sample for sample in SAMPLES if sample.name in NAMES}

_VARYING = re.compile(
    rb'(?<="created":)\d+|(?<="id":"chatcmpl-)[0-9a-f]+|(?<="id":"cmpl-)[0-9a-f]+'
)

Answers = dict[str, tuple[int, str | None, bytes]]


@pytest.fixture(scope="module")
def session() -> Iterator[SharedSession]:
    """What shares one real engine among the tests here."""
    session = SharedSession()
    yield session
    session.close()


@pytest.fixture(scope="module")
def answers(
    session: SharedSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Answers, Answers, Path]:
    """The same requests to the real engine while it is recorded, then to its replay."""
    path = tmp_path_factory.mktemp("cassettes") / "smollm2.jsonl"
    settings = Settings.load(CONFIG).models[0]
    real = asked_of_the_real_engine(session, settings, path)
    replay = asked(session, ReplayEngine(path), CHOSEN.values())
    return real, replay, path


def asked_of_the_real_engine(
    session: SharedSession, settings: ModelSettings, path: Path
) -> Answers:
    recording = RecordingEngine(session.real_engine(settings), path)
    return asked(session, recording, CHOSEN.values())


def asked(session: SharedSession, engine: Any, samples: Iterable[Sample]) -> Answers:
    """Answers of an app over this engine, one after the other."""
    container = session.container(Settings.load(CONFIG).models[0])
    with override(container, engine=engine):
        app = create_app(container)
        with session.serving(app, container) as (transport, left):
            found = asyncio.run(ask_all(transport, samples))
    assert left == []
    return found


async def ask_all(transport: Any, samples: Iterable[Sample]) -> Answers:
    client = httpx.AsyncClient(transport=transport, base_url="http://test", timeout=120)
    found: Answers = {}
    for sample in samples:
        headers = {"Content-Type": sample.content_type or ""}
        answer = await client.post(sample.path, content=sample.content, headers=headers)
        body = _VARYING.sub(b"MASKED", answer.content)
        found[sample.name] = (
            answer.status_code,
            answer.headers.get("content-type"),
            body,
        )
    return found


def test_there_are_25_samples() -> None:
    assert sorted(CHOSEN) == sorted(NAMES)
    assert len(NAMES) == 25


@pytest.mark.parametrize("name", NAMES)
def test_a_replay_equals_what_was_recorded_byte_for_byte(
    answers: tuple[Answers, Answers, Path], name: str
) -> None:
    real, replay, _ = answers
    assert replay[name] == real[name]


def test_what_was_recorded_are_real_answers(
    answers: tuple[Answers, Answers, Path],
) -> None:
    real, _, path = answers
    assert b"Paris" in real["chat: greedy"][2]
    assert real["chat: greedy, streamed"][2].count(b"data: ") > 5
    assert [status for status, *_ in real.values() if status != 200] == [404, 400]
    assert len(tape.read(path)) >= 23
    assert any(len(episode.outputs) > 3 for episode in tape.read(path))


def test_what_was_not_recorded_names_the_nearest(
    answers: tuple[Answers, Answers, Path],
) -> None:
    *_, path = answers
    session = SharedSession()
    content = CHOSEN["chat: greedy"].content or b""
    sample = Sample("other", "/v1/chat/completions", content.replace(b"Fra", b"Fri"))
    try:
        ((status, _, body),) = asked(session, ReplayEngine(path), [sample]).values()
    finally:
        session.close()
    assert status == 500
    assert b"no answer to" in body
    assert b"What is the capital of Fri" in body


CONFTEST = f"""
import pytest
from containers import Settings

@pytest.fixture(scope="session")
def serving_settings():
    return Settings.load({str(CONFIG)!r}).models[0]

@pytest.fixture(scope="session")
def _serving_session(request):
    return request.config.outer_session
"""
MARKED = """
import pytest

@pytest.mark.cassette("capitals.jsonl")
async def test_a_capital(openai_client):
    stream = await openai_client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": "What is the capital of France?"}],
        temperature=0,
        stream=True,
    )
    parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "Paris" in "".join(parts)
    assert len(parts) > 3
"""
ALONE = ("cacheprovider", "faulthandler", "randomly", "timeout", "xdist")


class Outer:
    """Lends a run of pytest inside this one the real engine that is started."""

    def __init__(self, session: SharedSession) -> None:
        self._session = session

    def pytest_configure(self, config: Any) -> None:
        """Hand it to the inner ``conftest.py``."""
        config.outer_session = self._session


def run_of_pytest(folder: Path, session: SharedSession, *options: str) -> int:
    """Exit status of a run of the project in a folder, in this process."""
    settings = ("asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function")
    return pytest.main(
        [
            *("-q", "--rootdir", str(folder), "--import-mode", "importlib"),
            *(each for name in ALONE for each in ("-p", f"no:{name}")),
            *(each for setting in settings for each in ("-o", setting)),
            str(folder),
            *options,
        ],
        plugins=[Outer(session)],
    )


def test_the_option_records_with_the_real_engine_and_a_plain_run_replays(
    session: SharedSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_marked.py").write_text(MARKED)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    cassette = tmp_path / "capitals.jsonl"
    assert run_of_pytest(tmp_path, session) != 0  # there is nothing to replay yet
    assert not cassette.exists()
    assert run_of_pytest(tmp_path, session, "--vllm-di-record") == 0
    (episode,) = tape.read(cassette)
    assert len(episode.outputs) > 3
    monkeypatch.setattr(session, "real_engine", None)
    recorded = cassette.read_bytes()
    for option in ((), ("--vllm-di-record=once",)):
        session._recorded.clear()  # as in another run
        assert run_of_pytest(tmp_path, session, *option) == 0
    assert cassette.read_bytes() == recorded
