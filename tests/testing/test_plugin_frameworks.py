"""The plugin under every way to run asynchronous tests.

Marked ``engine`` though no engine starts: a dozen pytest runs are too slow for the
first tier.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing.project import WITHOUT_VLLM, auto, pytest_run

SYNC = """
from starlette.testclient import TestClient

def test_synchronous(serving_app):
    with TestClient(serving_app) as client:
        assert client.get("/capital").json() == "Paris."
"""
ASYNC = """
import asyncio
import pytest
from containers.testing import FakeServingChat, fake_container

MARK
loops = []

async def ask(client):
    return (await client.get("/capital")).json()

async def test_one(serving_client, chat):
    loops.append(asyncio.get_running_loop())
    assert await asyncio.gather(*(ask(serving_client) for _ in range(5)))
    assert len(chat.requests) == 5

async def test_another(serving_client, chat):
    loops.append(asyncio.get_running_loop())
    assert await ask(serving_client) == "Paris."
    assert len(chat.requests) == 1

async def test_two_apps(serving_client, request):
    from starlette.testclient import TestClient
    from app import create_app

    other = fake_container(name="other", serving_chat=FakeServingChat("Lima."))
    question = {"messages": [{"role": "user", "content": "Where?"}]}
    assert await ask(serving_client) == "Paris."
    with TestClient(create_app(other)) as client:
        assert client.get("/v1/models").json()["data"][0]["id"] == "other"
        assert await ask(serving_client) == "Paris."
    assert await ask(serving_client) == "Paris."

async def test_a_stream_that_is_left(serving_app, serving_client):
    from starlette.responses import StreamingResponse
    left = []

    @serving_app.get("/endless")
    async def endless() -> StreamingResponse:
        async def numbers():
            try:
                while True:
                    yield b"1\\n"
                    await asyncio.sleep(0.001)
            finally:
                left.append(True)
        return StreamingResponse(numbers())

    async with serving_client.stream("GET", "/endless") as answer:
        async for line in answer.aiter_lines():
            break
    assert left == [True]

async def test_what_the_app_raises(serving_app, serving_client):
    @serving_app.get("/broken")
    async def broken() -> None:
        raise KeyError("from the route")

    with pytest.raises(KeyError, match="from the route"):
        await serving_client.get("/broken")

def test_loops():
    assert (loops[0] is loops[1]) == SHARED
"""

pytestmark = [pytest.mark.engine, pytest.mark.soak, pytest.mark.timeout(120)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(WITHOUT_VLLM)
    (tmp_path / "test_sync.py").write_text(SYNC)
    return tmp_path


def write(folder: Path, mark: str = "", *, shared: bool = False) -> None:
    text = ASYNC.replace("MARK", mark).replace("SHARED", str(shared))
    (folder / "test_async.py").write_text(text)


def test_auto_mode_with_a_loop_for_each_test(folder: Path) -> None:
    write(folder)
    run = pytest_run(folder, *auto())
    assert run.printed.endswith("s"), run.printed
    assert run.count("passed") == 7, run.printed


def test_auto_mode_with_one_loop_for_the_session(folder: Path) -> None:
    write(folder, shared=True)
    run = pytest_run(folder, *auto("session"))
    assert run.count("passed") == 7, run.printed


def test_a_test_loop_of_another_scope_than_the_fixtures(folder: Path) -> None:
    write(folder, "pytestmark = pytest.mark.asyncio(loop_scope='session')", shared=True)
    run = pytest_run(folder, *auto("function"))
    assert run.count("passed") == 6, run.printed
    assert "test_loops" in run.printed


def test_strict_mode(folder: Path) -> None:
    write(folder, "strict = pytest.mark.asyncio(loop_scope='module')", shared=True)
    text = (folder / "test_async.py").read_text()
    text = text.replace("async def test_", "@strict\nasync def test_")
    (folder / "test_async.py").write_text(text)
    run = pytest_run(
        folder,
        *("-o", "asyncio_mode=strict"),
        *("-o", "asyncio_default_fixture_loop_scope=function"),
    )
    assert run.count("passed") == 7, run.printed


def test_anyio(folder: Path) -> None:
    write(folder, "mark = pytest.mark.anyio")
    text = (folder / "test_async.py").read_text()
    text = text.replace("async def test_", "@mark\nasync def test_")
    text += "\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    (folder / "test_async.py").write_text(text)
    run = pytest_run(folder, plugins="anyio")
    assert run.count("passed") == 7, run.printed


def test_xdist(folder: Path) -> None:
    write(folder)
    for number in range(4):
        text = (folder / "test_sync.py").read_text()
        (folder / f"test_sync_{number}.py").write_text(text)
    run = pytest_run(
        folder,
        *auto(),
        "-n",
        "2",
        "--dist",
        "loadfile",
        plugins="pytest_asyncio.plugin xdist",
    )
    assert run.count("passed") == 11, run.printed
