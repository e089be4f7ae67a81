"""What becomes of events that share a write when their stream ends early."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any
from weakref import ref

from starlette.types import Message

from app.answers import EventStream
from app.flights import Flights
from app.shapes import ResponsesShape
from app.shared_writes import TURNS, Rounds, SharedWrites

N_HELD = 4


class Event(SimpleNamespace):
    """An event of the Responses API."""

    type = "response.output_text.delta"

    def model_dump_json(self, **_: Any) -> str:
        return json.dumps(vars(self))


class Reader:
    """A client that stops reading after its first event; its server waits to write."""

    def __init__(self) -> None:
        self.text = ""
        self.is_asked_more = asyncio.Event()
        self.reads_on = asyncio.Event()

    async def send(self, message: Message) -> None:
        if message["type"] != "http.response.body":
            return
        if self.text:
            self.is_asked_more.set()
            await self.reads_on.wait()
        self.text += message["body"].decode()

    @property
    def numbers(self) -> list[int]:
        lines = [line for line in self.text.splitlines() if line.startswith("data:")]
        return [json.loads(line[6:])["sequence_number"] for line in lines]


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def turns(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def answered(
    reader: Reader, flights: Flights, then: Callable[[], AsyncGenerator[Any, None]]
) -> asyncio.Task[None]:
    """A stream whose late write is not taken, and what it does after that."""

    async def results() -> AsyncGenerator[Any, None]:
        for number in range(1 + N_HELD):
            yield Event(sequence_number=number)
        await reader.is_asked_more.wait()
        async for event in then():
            yield event

    shape = ResponsesShape()
    stream = EventStream(shape.events(results()), flights, shape, rounds=Rounds())
    answering = asyncio.create_task(stream({}, never, reader.send))
    await reader.is_asked_more.wait()
    await turns(3)
    return answering


async def test_a_stream_that_fails_sends_what_it_had_made_to_a_slow_reader() -> None:
    no_events: list[Event] = []

    async def failing() -> AsyncGenerator[Any, None]:
        for event in no_events:
            yield event
        raise RuntimeError("no more")

    reader = Reader()
    answering = await answered(reader, Flights(), failing)
    reader.reads_on.set()
    await answering
    assert reader.numbers == [*range(1 + N_HELD), 1 + N_HELD]
    assert "event: error" in reader.text


async def test_a_stream_that_is_cut_has_no_gap_before_its_last_words() -> None:
    async def going_on() -> AsyncGenerator[Any, None]:
        yield Event(sequence_number=1 + N_HELD)
        await asyncio.Event().wait()

    reader, flights = Reader(), Flights()
    answering = await answered(reader, flights, going_on)
    flights.end_all()
    await turns(3 * TURNS)
    reader.reads_on.set()
    await answering
    assert "event: error" in reader.text
    assert reader.numbers == [*range(len(reader.numbers))]


async def test_a_client_that_goes_leaves_no_write_behind() -> None:
    n_written, begun, before = 0, asyncio.Event(), asyncio.all_tasks()

    async def send(message: Message) -> None:
        nonlocal n_written
        n_written += 1
        if n_written > 1:
            begun.set()
            await asyncio.Event().wait()
        assert message["body"]

    async def streaming() -> None:
        async with SharedWrites(send, lambda _: None, Rounds()) as writes:
            await writes.send(b"data: 1\n\n")
            await writes.send(b"data: 2\n\n")
            await asyncio.Event().wait()

    task = asyncio.create_task(streaming())
    await begun.wait()
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()
    assert asyncio.all_tasks() == before


async def test_a_late_write_is_its_own_requests_and_no_others() -> None:
    whose: ContextVar[str] = ContextVar("whose", default="nobody")
    seen: list[tuple[str, str]] = []
    rounds = Rounds()

    async def one(name: str) -> None:
        async def send(_: Message) -> None:
            seen.append((name, whose.get()))

        whose.set(name)
        async with SharedWrites(send, lambda _: None, rounds) as writes:
            await writes.send(b"data: 1\n\n")
            await writes.send(b"data: 2\n\n")
            await turns(3 * TURNS)

    await asyncio.gather(one("first"), one("second"))
    assert sorted(seen) == [("first", "first")] * 2 + [("second", "second")] * 2


class Belonging:
    """Something of a request, which its context holds."""


async def test_rounds_that_go_on_keep_nothing_of_the_request_that_began_them() -> None:
    mine: ContextVar[Belonging] = ContextVar("mine")
    rounds = Rounds()

    async def beginning() -> ref[Belonging]:
        belonging = Belonging()
        mine.set(belonging)
        rounds.current()
        return ref(belonging)

    async def writing() -> None:
        async with SharedWrites(sink, lambda _: None, rounds) as writes:
            while True:
                await writes.send(b"data: x\n\n")
                await turns(1)

    async def sink(_: Message) -> None:
        pass

    left = await asyncio.create_task(beginning())
    going_on = asyncio.create_task(writing())
    await turns(10 * TURNS)
    gc.collect()
    assert left() is None
    going_on.cancel()
    await asyncio.wait((going_on,))


def test_a_loop_that_has_ended_leaves_no_stream_to_the_next() -> None:
    rounds, told = Rounds(), []

    async def unfinished() -> ref[SharedWrites]:
        async def send(_: Message) -> None:
            pass

        writes = SharedWrites(send, lambda _: None, rounds)
        async with writes:
            await writes.send(b"data: 1\n\n")
            await writes.send(b"data: 2\n\n")
        return ref(writes)

    left = asyncio.run(unfinished())

    async def next_one() -> None:
        rounds.current()
        gc.collect()
        told.append(left())

    asyncio.run(next_one())
    assert told == [None]


async def test_nothing_is_written_that_holds_nothing() -> None:
    async def send(message: Message) -> None:
        bodies.append(message["body"])

    for pause in range(3 * TURNS):
        bodies: list[bytes] = []
        async with SharedWrites(send, lambda _: None, Rounds()) as writes:
            await writes.send(b"1")
            await writes.send(b"2")
            await turns(pause)
            await writes.send(b"3")
            await turns(3 * TURNS)
        assert b"" not in bodies
        assert b"".join(bodies) == b"123"


def test_what_is_held_in_one_loop_is_never_written_in_another() -> None:
    rounds, written_in = Rounds(), []
    first, second = asyncio.Runner(), asyncio.Runner()

    async def send(_: Message) -> None:
        written_in.append(asyncio.get_running_loop())

    async def unfinished() -> None:
        rounds.current()

    async def holding(writes: SharedWrites) -> None:
        await writes.send(b"data: 1\n\n")
        await writes.send(b"data: 2\n\n")

    with first, second:
        first.run(unfinished())
        writes = SharedWrites(send, lambda _: None, rounds)
        second.run(holding(writes))
        first.run(turns(4 * TURNS))
        assert written_in == [second.get_loop()]
        second.run(writes.end())
        assert written_in == [second.get_loop()] * 2
