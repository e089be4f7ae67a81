"""Events of a stream that come fast share a write, and none is lost or late."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from app.answers import EventStream
from app.flights import Flights
from app.shapes import ResponsesShape
from app.shared_writes import MOST, ROUND_S, TURNS, Rounds, SharedWrites


class Writes:
    """What ASGI's ``send`` was given."""

    def __init__(self, delay: int = 0) -> None:
        self.bodies: list[bytes] = []
        self.is_over = False
        self._delay = delay

    async def __call__(self, message: Message) -> None:
        await turns(self._delay)
        if message["type"] == "http.response.body":
            assert not self.is_over
            self.bodies.append(message["body"])
            self.is_over = not message.get("more_body", False)


class Event(SimpleNamespace):
    """An event of the Responses API."""

    type = "response.output_text.delta"

    def model_dump_json(self, **_: Any) -> str:
        return json.dumps(vars(self))


def events(n: int) -> list[bytes]:
    return [f"data: {number}\n\n".encode() for number in range(n)]


async def sent_with(writes: SharedWrites, sent: Sequence[bytes]) -> None:
    for event in sent:
        await writes.send(event)


async def turns(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def test_a_burst_has_one_write_at_once_and_the_rest_share_another() -> None:
    out, told, burst = Writes(), [], events(MOST)
    async with SharedWrites(out, told.append, Rounds()) as writes:
        await sent_with(writes, burst)
        assert out.bodies == told == burst[:1]
        await writes.end()
    assert out.bodies[1:] == [b"".join(burst[1:])]
    assert told == burst
    assert out.is_over


async def test_what_comes_when_the_loop_has_had_rest_waits_for_nothing() -> None:
    out, slow = Writes(), events(20)
    async with SharedWrites(out, lambda _: None, Rounds()) as writes:
        for number, event in enumerate(slow):
            await writes.send(event)
            assert len(out.bodies) == number + 1
            await asyncio.sleep(0.02)
    assert out.bodies == slow


async def test_a_stream_with_an_event_a_turn_has_one_write_a_round() -> None:
    out, rounds, many = Writes(), Rounds(), events(10 * TURNS)
    async with SharedWrites(out, lambda _: None, rounds) as writes:
        for event in many:
            await writes.send(event)
            await turns(1)
        await writes.end()
    assert b"".join(out.bodies) == b"".join(many)
    assert 10 <= len(out.bodies) <= 40


async def test_what_is_held_goes_out_within_two_rounds_though_nothing_follows() -> None:
    out, burst = Writes(), events(4)
    async with SharedWrites(out, lambda _: None, Rounds()) as writes:
        await sent_with(writes, burst)
        assert len(out.bodies) == 1
        await turns(2 * TURNS + 2)
        assert out.bodies == [burst[0], b"".join(burst[1:])]


async def test_a_round_of_long_turns_has_fewer_of_them() -> None:
    out, burst = Writes(), events(2)
    async with SharedWrites(out, lambda _: None, Rounds()) as writes:
        await sent_with(writes, burst)
        for _ in range(4):
            time.sleep(ROUND_S)  # noqa: ASYNC251  # somebody holds up the loop
            await turns(1)
        assert out.bodies == burst


async def test_a_loop_that_ended_within_a_round_holds_up_no_other() -> None:
    rounds = Rounds()

    async def one() -> list[bytes]:
        out = Writes()
        async with SharedWrites(out, lambda _: None, rounds) as writes:
            await sent_with(writes, events(2))
            await turns(3 * TURNS)
        return out.bodies

    async def unfinished() -> None:
        rounds.current()

    await asyncio.to_thread(asyncio.run, unfinished())
    assert await asyncio.to_thread(asyncio.run, one()) == events(2)
    assert await one() == events(2)


async def test_every_event_is_a_write_where_none_is_to_be_shared() -> None:
    out, burst = Writes(), events(50)
    async with SharedWrites(out, lambda _: None, None) as writes:
        await sent_with(writes, burst)
    assert out.bodies == burst


@pytest.mark.parametrize("n_turns", [0, 1], ids=["no pause", "a pause each"])
async def test_a_reader_that_stops_holds_up_what_makes_the_events(n_turns: int) -> None:
    n_made = n_written = 0

    async def send(message: Message) -> None:
        nonlocal n_written
        n_written += message["body"].count(b"data: ")
        if n_written > 1:
            await asyncio.Event().wait()

    async with SharedWrites(send, lambda _: None, Rounds()) as writes:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                while n_made < 10 * MOST:
                    await writes.send(b"data: x\n\n")
                    n_made += 1
                    await turns(n_turns)
    assert n_made <= MOST + 1


async def test_a_write_that_fails_late_ends_the_stream() -> None:
    n_written = 0

    async def send(message: Message) -> None:
        nonlocal n_written
        n_written += 1
        if n_written > 1:
            raise OSError(f"no place for {message['type']}")

    async with SharedWrites(send, lambda _: None, Rounds()) as writes:
        await sent_with(writes, events(2))
        await turns(3 * TURNS)
        assert n_written == 2
        with pytest.raises(OSError, match="no place"):
            await writes.send(b"data: 3\n\n")


@given(st.lists(st.integers(0, 3 * TURNS), max_size=40), st.integers(0, 2))
async def test_all_events_go_out_in_order_and_are_told_of(
    pauses: list[int], delay: int
) -> None:
    out, told, made = Writes(delay), [], events(len(pauses))
    async with SharedWrites(out, told.append, Rounds()) as writes:
        for event, pause in zip(made, pauses, strict=True):
            await writes.send(event)
            await turns(pause)
        await writes.end()
    assert b"".join(out.bodies) == b"".join(made)
    assert told == made
    assert out.is_over


@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "failed"])
async def test_what_is_held_goes_before_the_last_words(
    is_cut: bool,
) -> None:  # pytest's
    made, flights, out = asyncio.Event(), Flights(), Writes()

    async def results() -> AsyncGenerator[Any, None]:
        for number in range(5):
            yield Event(sequence_number=number)
        made.set()
        if not is_cut:
            raise RuntimeError("no more")
        await asyncio.Event().wait()

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    shape = ResponsesShape()
    stream = EventStream(shape.events(results()), flights, shape, rounds=Rounds())
    answering = asyncio.create_task(stream({}, receive, out))
    await made.wait()
    flights.end_all()
    await answering
    text = b"".join(out.bodies).decode()
    *sent, last = [
        json.loads(line[6:]) for line in text.splitlines() if "data:" in line
    ]
    assert [each["sequence_number"] for each in sent] == [*range(5)]
    assert (last["type"], last["sequence_number"]) == ("error", 5)
    assert out.is_over
