"""A client that goes away ends its generation, over real sockets."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from dependency_injector.containers import Container
from fastapi import FastAPI, Request, Response
from starlette.types import Message

from app import include_serving
from app.flights import Flights
from app.while_wanted import LISTEN_AFTER_S, ClientGoneError, WhileWanted
from containers.testing import FakeEngine, override
from tests.http.conftest import served
from tests.http.test_answers import QUESTION

WITHIN_S = 1.0


def wait_until(condition: Callable[[], bool], *, within_s: float) -> float:
    """Seconds until a condition holds; fails when they are more than allowed."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > within_s:
            pytest.fail(f"not within {within_s} s")
        time.sleep(0.01)
    return time.monotonic() - began


def send(
    url: str, body: dict[str, Any], *, path: str = "/v1/chat/completions"
) -> socket.socket:
    """Send a request on a socket of its own and leave the answer unread."""
    host, port = url.removeprefix("http://").split(":")
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    connection = socket.create_connection((host, int(port)), timeout=10)
    connection.sendall(head.encode() + content)
    return connection


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("middleware", [False, True])
@pytest.mark.parametrize("delay_s", [0.005, 30.0])
def test_its_generation_is_aborted_within_a_second(
    serving_container: Container,
    *,
    stream: bool,
    middleware: bool,
    delay_s: float,
) -> None:
    engine = FakeEngine(itertools.cycle(["word "]), delay_s=delay_s)
    app = FastAPI()
    include_serving(app, serving_container)
    if middleware:

        @app.middleware("http")
        async def log(
            request: Request, call: Callable[[Request], Awaitable[Response]]
        ) -> Response:
            return await call(request)

    with override(serving_container, engine=engine), served(app) as url:
        connection = send(url, QUESTION | {"stream": stream, "ignore_eos": True})
        wait_until(lambda: bool(engine.requests), within_s=10)
        time.sleep(0.1)
        assert engine.aborted == []
        connection.close()
        wait_until(lambda: bool(engine.aborted), within_s=WITHIN_S)


def test_an_answer_that_was_read_to_its_end_aborts_nothing(
    serving_container: Container, serving_engine: FakeEngine
) -> None:
    app = FastAPI()
    include_serving(app, serving_container)
    with served(app) as url:
        for stream in (False, True):
            connection = send(url, QUESTION | {"stream": stream})
            answer = b""
            while b"Paris" not in answer:
                answer += connection.recv(65536)
            connection.close()
        time.sleep(0.1)
    assert serving_engine.aborted == []


async def test_an_answer_that_is_made_at_once_is_listened_for_by_nobody() -> None:
    listened: list[float] = []

    async def receive() -> Message:
        listened.append(time.monotonic())
        return {"type": "http.disconnect"}

    for wait_s in (0.0, 10.0):
        with suppress(ClientGoneError):
            async with WhileWanted(receive, Flights()):
                await asyncio.sleep(wait_s)
        await asyncio.sleep(2 * LISTEN_AFTER_S)
        assert len(listened) == bool(wait_s)
