"""The other front ends as their owner has them, without processes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.exchange import Asked, Exchange
from app.frontends import front_ends, other, owned, patience
from app.frontends.channel import Channel
from app.frontends.front_ends import FrontEnds
from app.frontends.other import OtherFrontEnd
from app.frontends.owned import OwnedPaths, OwnedRoutes
from app.metrics.together import Measured
from containers.vllm_api.sharing import Place, Places

PLACES = [Place(n, "ipc:///nowhere/in", "ipc:///nowhere/out") for n in (1, 2)]


class Stand:
    """A socket of the owner's."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.is_open, self.is_left = asyncio.Event(), asyncio.Event()

    async def open(self) -> None:
        """Answer there."""
        self.is_open.set()

    def close(self) -> None:
        """Leave it to its front end."""
        if self.is_open.is_set():
            self.is_left.set()


class Server:
    """An owner's front ends, and what it says of them."""

    def __init__(self) -> None:
        self.places = Places([*PLACES])
        engine = SimpleNamespace(vllm_di_places=self.places)
        self.model = SimpleNamespace(
            is_ready=True, loaded=SimpleNamespace(engine=engine)
        )
        container = SimpleNamespace(settings=lambda: None)
        service: Any = SimpleNamespace(models=[self.model], container=container)
        app: Any = None
        self.stand = Stand()
        stands: Any = [self.stand]
        self.said: list[str] = []
        self._news = asyncio.Event()
        self.others = FrontEnds(app, service, stands, made_by="no:one", say=self.say)

    def say(self, line: str) -> None:
        self.said.append(line)
        self._news.set()

    async def says(self, words: str, n: int = 1) -> None:
        """Wait until it has said that so many times."""
        while sum(words in line for line in self.said) < n:
            self._news.clear()
            await self._news.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Have them there meanwhile."""
        running = asyncio.create_task(self.others.run())
        async with asyncio.timeout(10):
            yield running
            await self.others.drain(0)
            await running


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setattr(front_ends, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(patience, "LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr(front_ends, "packed", str)
    made = Server()
    with made.stand.listener:
        yield made


async def test_a_machine_without_room_for_a_process_is_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kw: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(other.subprocess, "Popen", fail)
    async with server.running():
        await server.says("cannot be started for now", 3)
    assert server.places.left == PLACES
    assert all("cannot be started for now" in line for line in server.said)


async def test_without_an_engine_none_is_started_which_would_start_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kw: object) -> None:
        pytest.fail("one was started")

    monkeypatch.setattr(front_ends, "OtherFrontEnd", fail)
    server.model.is_ready = False
    async with server.running():
        await asyncio.sleep(0.1)
    assert server.said == []


class Process:
    """What a front end is run as, without one."""

    pid = 1
    status: int | None = None

    def __init__(self, *_: object, pass_fds: tuple[int, ...], **__: object) -> None:
        self.connection = socket.socket(fileno=os.dup(pass_fds[0]))

    def poll(self) -> int | None:
        """How it has ended, if it has."""
        return self.status

    def kill(self) -> None:
        """End it."""
        self.status = -9
        self.connection.close()


class Answering(Process):
    """A front end that answers what it is asked, and keeps it."""

    all: ClassVar[list[Answering]] = []
    dies = hangs = False

    def __init__(self, *_: object, pass_fds: tuple[int, ...], **__: object) -> None:
        super().__init__(pass_fds=pass_fds)
        self.asked: list[tuple[Any, ...]] = []
        names = ("start", "reload", "log", "reset_mm_cache", "measure", "drain")
        handlers = {name: partial(self._answer, name) for name in names}
        self._channel = Channel(self.connection, handlers)
        self._running = asyncio.create_task(self._channel.run())
        self.all.append(self)

    async def _answer(self, name: str, *args: Any) -> AsyncGenerator[Any, None]:
        self.asked.append((name, *args))
        if self.hangs:
            await asyncio.Event().wait()
        yield (Measured(b""), 0) if name == "measure" else 1
        if self.dies or name == "drain":
            self.kill()

    def kill(self) -> None:
        """End it."""
        self.status = -9
        self._channel.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Answering]:
    """The front ends that have been started, as long as they answer."""
    monkeypatch.setattr(other.subprocess, "Popen", Answering)
    monkeypatch.setattr(Answering, "all", [])
    return Answering.all


async def test_one_that_hangs_at_its_start_is_replaced(
    server: Server, started: list[Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_ends, "START_TIMEOUT_S", 0.05)
    monkeypatch.setattr(Answering, "hangs", True)
    async with server.running():
        await server.says("did not start", 3)
    assert [each.asked[0][0] for each in started[:3]] == ["start"] * 3
    assert all(each.status is not None for each in started)
    why = "front end 1 did not start (no answer for 0.05 s): another one in 0 s"
    assert {*server.said} == {why}
    assert server.places.left == PLACES  # none of them has come to it


async def test_when_the_last_place_is_used_it_is_told_what_to_do(
    server: Server,
    started: list[Answering],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    server.places.left = [Place(n, f"ipc://{taken}", "") for n in range(3)]
    cleared: list[Place] = []

    async def clear(_: object, place: Place) -> None:
        cleared.append(place)

    monkeypatch.setattr(front_ends, "clear", clear)
    monkeypatch.setattr(Answering, "dies", True)
    async with server.running() as running:
        await running  # nothing goes on: there is no place to wait for
    assert len(started) == len(cleared) == 3
    (last,) = [n for n, line in enumerate(server.said) if "last place" in line]
    assert "until the server is restarted" in server.said[last]
    assert sum("did not start" in each or "died" in each for each in server.said) == 3
    assert server.said[-1].startswith(
        "front end 1 is not replaced any more: all places"
    )
    assert server.said[-1].endswith("restart the server")


async def test_what_an_administrator_asks_reaches_those_that_serve_and_come_later(
    server: Server, started: list[Answering]
) -> None:
    levels = {"vllm": "debug"}
    async with server.running():
        await server.says("serves")
        await server.others.set_levels(levels)
        await server.others.reset_mm_cache()
        assert started[0].asked[1:] == [("log", levels), ("reset_mm_cache",)]
        started[0].kill()
        await server.says("serves", 2)
        assert ("log", levels) in started[1].asked
        assert ("reset_mm_cache",) not in started[1].asked


async def test_the_owner_answers_beside_one_that_is_silent_until_it_speaks(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("MEASURE_EVERY_S", 0.01), ("SILENT_S", 0.05)):
        monkeypatch.setattr(other, name, seconds)
    monkeypatch.setattr(other, "MEASURE_TIMEOUT_S", 0.01)
    monkeypatch.setattr(other.subprocess, "Popen", Process)
    speaks, stand = asyncio.Event(), Stand()

    async def start(*_: object) -> AsyncGenerator[int, None]:
        yield 1

    async def measure() -> AsyncGenerator[Any, None]:
        await speaks.wait()
        yield Measured(b""), 0

    with stand.listener:
        one = OtherFrontEnd(1, stand.listener, {})
    process: Any = one._process
    end = Channel(process.connection, {"start": start, "measure": measure})
    running = asyncio.create_task(end.run())
    await one.start("", None, "", timeout_s=5)
    watching = asyncio.create_task(one.watch(stand))  # type: ignore[arg-type]  # a double
    async with asyncio.timeout(5):
        await stand.is_open.wait()
        assert one.measured is None
        speaks.set()
        await stand.is_left.wait()
        assert one.measured is not None
        end.close()
        await watching
        await one.end()
        await asyncio.wait({running})


async def endless(scope: Scope, receive: Receive, send: Send) -> None:
    """An answer without an end."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(0.01)


async def never(*_: Message) -> Message:
    """A connection on which nothing moves."""
    await asyncio.Event().wait()
    return {}


async def test_a_body_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owned, "BODY_S", 0.05)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    silent: Any = never
    channel: Any = None
    path: Any = SimpleNamespace(path="/feed", tags=["metrics"])
    routes = OwnedRoutes(endless, channel, OwnedPaths([path]))
    scope = {"type": "http", "method": "POST", "path": "/feed", "headers": []}
    async with asyncio.timeout(5):
        await routes(scope, silent, send)
    assert sent[0]["status"] == 408


async def test_who_does_not_read_what_the_owner_says_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owned, "READ_ON_S", 0.05)
    is_ended = asyncio.Event()

    async def answer(asked: Asked) -> AsyncGenerator[Any, None]:
        async with aclosing(Exchange(endless, asked).parts()) as parts:
            try:
                async for part in parts:
                    yield part
            finally:
                is_ended.set()

    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await never()

    ends = socket.socketpair()
    channels = Channel(ends[0], {}), Channel(ends[1], {"answer": answer})
    running = [asyncio.create_task(each.run()) for each in channels]
    path: Any = SimpleNamespace(path="/feed", tags=["metrics"])
    routes = OwnedRoutes(endless, channels[0], OwnedPaths([path]))
    scope = {"type": "http", "method": "GET", "path": "/feed", "query_string": b""}
    async with asyncio.timeout(5):
        unread: Any = never
        await routes({**scope, "headers": []}, receive, unread)
        await is_ended.wait()
    for each in channels:
        each.close()
    await asyncio.wait(running)


@pytest.mark.heavy
def test_the_command_imports_nothing_of_them_by_itself() -> None:
    program = (
        "import sys, app.commands.serving; "
        "print([m for m in ('front_ends', 'other', 'process', 'channel') "
        "if f'app.frontends.{m}' in sys.modules])"
    )
    told = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert told.strip() == "[]"
