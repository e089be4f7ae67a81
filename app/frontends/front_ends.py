"""The other front ends of a server: started, replaced, told, asked and ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import FastAPI

from app.exchange import Asked, Exchange, Part
from app.frontends.channel import ChannelClosedError, RefusedError
from app.frontends.listeners import Stand
from app.frontends.other import OtherFrontEnd
from app.frontends.patience import FIRST_PAUSE_S, Patience
from app.metrics.together import Measured, counted, together
from app.server import CLOSE_TIMEOUT_S
from app.service import Service
from containers.settings import Settings
from containers.settings.travel import packed
from containers.vllm_api.left_place import clear
from containers.vllm_api.sharing import Place, Places
from containers.vllm_api.statistics import heard_at_s

logger = logging.getLogger(__name__)

START_TIMEOUT_S = 600.0
"""Seconds in which one has to load everything and listen, or to reload."""
LEAVE_S = 2.0
"""Seconds more than its requests and connections that one has to end."""
LAST = "none that dies from now on is replaced until the server is restarted"
USED_UP = (
    "all places of the engine are used, and the first process answers in its stead. "
    "Find out why front ends die, and restart the server"
)


class FrontEnds:
    """All front ends but this process.

    Args:
        app: The app of this process.
        service: Its service.
        stands: The sockets of the others.
        made_by: ``module:function`` of what makes their containers of settings.
        say: Told what becomes of them.
    """

    def __init__(
        self,
        app: FastAPI,
        service: Service,
        stands: Sequence[Stand],
        *,
        made_by: str,
        say: Callable[[str], None],
    ) -> None:
        self._app = app
        self._service = service
        self._stands = stands
        self._made_by = made_by
        self._say = say
        self._alive: list[OtherFrontEnd] = []
        self._serving: list[OtherFrontEnd] = []
        self._gone = b""
        self._patience = Patience()
        self._levels: dict[str, str | None] = {}
        self._n_told = 0
        self._is_ending = asyncio.Event()

    async def run(self) -> None:
        """Have them there, until cancelled or told to drain."""
        self._packed = packed(self._service.container.settings())
        async with asyncio.TaskGroup() as tasks:
            for number, stand in enumerate(self._stands, start=1):
                tasks.create_task(self._keep(number, stand, tasks))

    async def _keep(self, number: int, stand: Stand, tasks: asyncio.TaskGroup) -> None:
        """Have one there, and another one when it dies."""
        while not self._is_ending.is_set():
            if self._engine is None:  # one without a place would start an engine
                await self._pause(FIRST_PAUSE_S)
                continue
            place = self._place()
            if place is None and self._has_places:
                self._say(f"front end {number} is not replaced any more: {USED_UP}")
                return
            why = await self._have_one(number, stand, place)
            if self._is_ending.is_set():
                return
            if place is not None:
                self._leave(place, tasks)
            pause_s = self._patience.pause_s(time.monotonic())
            self._say(f"front end {number} {why}: another one in {pause_s:.0f} s")
            await self._pause(pause_s)

    async def _have_one(self, number: int, stand: Stand, place: Place | None) -> str:
        """Have one there until it is gone, and tell what became of it."""
        try:
            front_end = OtherFrontEnd(number, stand.listener, {"answer": self._answer})
        except OSError as error:
            return f"cannot be started for now ({error})"
        self._alive.append(front_end)
        try:
            await self._start(front_end, place)
            return await self._serve(front_end, stand)
        except (ChannelClosedError, RefusedError) as error:
            return f"did not start ({str(error) or 'its process has ended'})"
        finally:
            await self._bury(front_end, stand)

    async def _start(self, front_end: OtherFrontEnd, place: Place | None) -> None:
        """Have it load everything, and take what others are told meanwhile."""
        await front_end.start(
            self._packed, place, self._made_by, timeout_s=START_TIMEOUT_S
        )
        n_told = 0
        while n_told != self._n_told:
            n_told = self._n_told
            await self._tell_settings(front_end)
            levels = dict(self._levels)
            await front_end.ask("log", levels, timeout_s=START_TIMEOUT_S)

    async def _tell_settings(self, front_end: OtherFrontEnd) -> None:
        await front_end.ask("reload", self._packed, timeout_s=START_TIMEOUT_S)

    async def _serve(self, front_end: OtherFrontEnd, stand: Stand) -> str:
        """Let it answer until it is gone, and tell why it is."""
        self._serving.append(front_end)
        stand.close()
        self._say(f"front end {front_end.number} serves (process {front_end.pid})")
        return await front_end.watch(stand)

    async def _bury(self, front_end: OtherFrontEnd, stand: Stand) -> None:
        if front_end in self._serving:
            self._serving.remove(front_end)
        if front_end.measured is not None:
            self._gone = counted([self._gone, front_end.measured.text])
        try:
            await stand.open()
        except OSError as error:
            self._say(f"nobody answers for front end {front_end.number}: {error}")
        finally:
            await front_end.end()
            self._alive.remove(front_end)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._is_ending.wait()
        except TimeoutError:
            return

    def _leave(self, place: Place, tasks: asyncio.TaskGroup) -> None:
        if self._engine is None:
            return
        if place.was_taken:
            tasks.create_task(clear(self._engine, place))
        else:
            self._engine.vllm_di_places.give_back(place)

    async def reload(self, settings: Settings) -> None:
        """Have them serve new settings; one that cannot is replaced."""
        self._packed = packed(settings)
        self._n_told += 1
        await asyncio.gather(*map(self._reload, self._serving))

    async def _reload(self, front_end: OtherFrontEnd) -> None:
        try:
            await self._tell_settings(front_end)
        except (ChannelClosedError, RefusedError) as error:
            logger.error(  # noqa: TRY400  # a sentence
                "front end %d is replaced, for it could not reload: %s",
                front_end.number,
                error,
            )
            front_end.kill()

    async def set_levels(self, levels: Mapping[str, str | None]) -> None:
        """Have their loggers say as much as those of this process."""
        self._levels |= levels
        self._n_told += 1
        await _all(each.tell("log", dict(levels)) for each in self._serving)

    async def reset_mm_cache(self) -> None:
        """Have them forget the images, sounds and videos they have read."""
        await _all(each.tell("reset_mm_cache") for each in self._serving)

    async def measured(self, own: bytes) -> bytes:
        """The metrics of all of them and of this process together."""
        await self._measure()
        others = [each.measured for each in self._serving if each.measured is not None]
        return together(Measured(own, heard_at_s(self._engine)), others, self._gone)

    async def n_in_flight(self) -> int:
        """How many requests they are answering."""
        await self._measure()
        return sum(each.n_in_flight for each in self._serving)

    async def drain(self, timeout_s: float) -> None:
        """Have them take nothing new, and end; one that does not in time is killed.

        Args:
            timeout_s: Seconds their requests may go on.
        """
        self._is_ending.set()
        for each in self._alive:
            if each not in self._serving:
                each.kill()
        bound_s = timeout_s + CLOSE_TIMEOUT_S + LEAVE_S
        ends = [each.exited(bound_s) for each in self._alive]
        await _all([*(e.tell("drain", timeout_s) for e in self._serving), *ends])

    async def cut(self) -> None:
        """Have them end the requests in flight at once."""
        await _all(each.tell("cut") for each in self._serving)

    async def fail(self) -> None:
        """Have them know that the engine has died."""
        await _all(each.tell("fail") for each in self._serving)

    async def _measure(self) -> None:
        await _all(each.measure() for each in self._serving)

    async def _answer(self, asked: Asked) -> AsyncGenerator[Part, None]:
        async with aclosing(Exchange(self._app, asked).parts()) as parts:
            async for part in parts:
                yield part

    @property
    def _engine(self) -> Any:
        (model,) = self._service.models
        return model.loaded.engine if model.is_ready else None

    @property
    def _has_places(self) -> bool:
        return isinstance(getattr(self._engine, "vllm_di_places", None), Places)

    def _place(self) -> Place | None:
        if not self._has_places:
            return None
        place: Place | None = self._engine.vllm_di_places.take()
        if place is not None and not self._engine.vllm_di_places.left:
            self._say(f"front ends have come to the last place of their engine: {LAST}")
        return place


async def _all(asked: Iterable[Any]) -> None:
    await asyncio.gather(*asked)
