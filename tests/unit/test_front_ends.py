"""The other front ends as their owner has them, without processes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.exchange import Asked, Exchange
from app.frontends import front_ends, other, owned
from app.frontends.channel import Channel
from app.frontends.front_ends import FrontEnds
from app.frontends.other import OtherFrontEnd
from app.frontends.owned import OwnedPaths, OwnedRoutes
from app.metrics.together import Measured
from containers.vllm_api.sharing import Place, Places

PLACE = Place(1, "ipc:///nowhere/in", "ipc:///nowhere/out")


class Stand:
    """A socket of the owner's."""

    listener: socket.socket | None = None

    def __init__(self) -> None:
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
        self.places = Places([PLACE])
        engine = SimpleNamespace(vllm_di_places=self.places)
        self.model = SimpleNamespace(
            is_ready=True, loaded=SimpleNamespace(engine=engine)
        )
        container = SimpleNamespace(settings=lambda: None)
        service: Any = SimpleNamespace(models=[self.model], container=container)
        app: Any = None
        stands: Any = [Stand()]
        self.said: list[str] = []
        self.has_said_much = asyncio.Event()
        self.others = FrontEnds(app, service, stands, made_by="no:one", say=self.say)

    def say(self, line: str) -> None:
        self.said.append(line)
        if len(self.said) > 2:
            self.has_said_much.set()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(front_ends, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(front_ends, "packed", str)
    return Server()


async def test_a_machine_without_room_for_a_process_is_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kw: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(other.subprocess, "Popen", fail)
    listener = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(Stand, "listener", listener)
    with listener:
        running = asyncio.create_task(server.others.run())
        async with asyncio.timeout(5):
            await server.has_said_much.wait()
        await server.others.drain(0)
        await running
    assert server.places.left == [PLACE]
    assert all("cannot be started for now" in line for line in server.said)


async def test_without_an_engine_none_is_started_which_would_start_one(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kw: object) -> None:
        pytest.fail("one was started")

    monkeypatch.setattr(front_ends, "OtherFrontEnd", fail)
    server.model.is_ready = False
    running = asyncio.create_task(server.others.run())
    await asyncio.sleep(0.1)
    await server.others.drain(0)
    await running
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

    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = OtherFrontEnd(1, listener, {})
    process: Any = one._process
    end = Channel(process.connection, {"start": start, "measure": measure})
    running = asyncio.create_task(end.run())
    await one.start("", None, "")
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


def test_the_command_imports_nothing_of_them_by_itself() -> None:
    program = (
        "import sys, app.commands.serve; "
        "print([m for m in ('front_ends', 'other', 'process', 'channel') "
        "if f'app.frontends.{m}' in sys.modules])"
    )
    told = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert told.strip() == "[]"
