"""What two processes of one server ask each other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from app.frontends.channel import Channel, ChannelClosedError, Handler, RefusedError


@asynccontextmanager
async def channels(handlers: Mapping[str, Handler]) -> AsyncIterator[list[Channel]]:
    """Both ends, the second of which has the handlers."""
    ours, theirs = socket.socketpair()
    ends = [Channel(ours, {}), Channel(theirs, handlers)]
    running = [asyncio.create_task(end.run()) for end in ends]
    try:
        yield ends
    finally:
        for end in ends:
            end.close()
        await asyncio.wait(running)
        await asyncio.gather(*running, return_exceptions=True)


async def test_an_answer_comes_in_its_parts_and_several_at_once() -> None:
    async def count(name: str, n: int) -> AsyncGenerator[str, None]:
        for number in range(n):
            yield f"{name}{number}"
            await asyncio.sleep(0)

    async with channels({"count": count}) as (ours, _):

        async def all_of(name: str) -> list[str]:
            return [part async for part in ours.stream("count", name, 3)]

        answers = await asyncio.gather(all_of("a"), all_of("b"))
        assert answers == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]
        assert await ours.call("count", "c", 1) == "c0"


async def test_a_part_of_a_megabyte_arrives_whole() -> None:
    async def echo(text: bytes) -> AsyncGenerator[bytes, None]:
        yield text

    async with channels({"echo": echo}) as (ours, _):
        text = bytes(range(256)) * 4096
        assert await ours.call("echo", text) == text


async def test_who_wants_no_more_ends_what_is_made_for_him() -> None:
    is_closed = asyncio.Event()

    async def endless() -> AsyncGenerator[int, None]:
        try:
            while True:
                yield 1
                await asyncio.sleep(0.001)
        finally:
            is_closed.set()

    async with channels({"endless": endless}) as (ours, _):
        parts = ours.stream("endless")
        assert await anext(parts) == 1
        await parts.aclose()
        async with asyncio.timeout(5):
            await is_closed.wait()


async def test_what_an_answer_fails_with_is_told_in_words() -> None:
    async def fail() -> AsyncGenerator[None, None]:
        raise ValueError("no such thing")
        yield

    async with channels({"fail": fail}) as (ours, _):
        with pytest.raises(RefusedError, match="no such thing"):
            await ours.call("fail")
        with pytest.raises(RefusedError, match="unheard"):
            await ours.call("unheard")


async def test_who_waits_for_a_process_that_ends_is_told() -> None:
    async def never() -> AsyncGenerator[None, None]:
        await asyncio.Event().wait()
        yield

    async with channels({"never": never}) as (ours, theirs):
        waiting = asyncio.create_task(ours.call("never"))
        await asyncio.sleep(0.05)
        theirs.close()
        with pytest.raises(ChannelClosedError):
            await waiting
        with pytest.raises(ChannelClosedError):
            await ours.call("never")
