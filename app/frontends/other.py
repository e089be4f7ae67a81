"""One of the other front ends, as the owner of the engine sees it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from app.frontends.channel import Channel, ChannelClosedError, Handler, RefusedError
from app.frontends.listeners import Stand
from app.metrics.together import Measured
from containers.vllm_api.sharing import Place

logger = logging.getLogger(__name__)

LOOK_S = 0.05
MEASURE_EVERY_S = 5.0
SILENT_S = 5.0
"""Seconds after which the owner answers beside a front end that answers nothing."""
HUNG_S = 60.0
"""Seconds after which a front end that answers nothing is replaced."""
MEASURE_TIMEOUT_S = 1.0
"""Seconds a front end has to tell what it has measured; then its last word counts."""


class OtherFrontEnd:
    """A process that answers requests over the same engine.

    It finds what it imports where this one does, not in the folder they run in.

    Args:
        number: Which of the front ends it is; the owner is 0.
        listener: The socket it listens at.
        handlers: What it may ask of the owner.

    Raises:
        OSError: The machine has no room for its process.

    Attributes:
        number: The same.
        gone: Set when its process is gone, or as good as that.
        measured: What it last told of its metrics.
        n_in_flight: How many requests it was answering then.
    """

    def __init__(
        self, number: int, listener: socket.socket, handlers: Mapping[str, Handler]
    ) -> None:
        self.number = number
        self.gone = asyncio.Event()
        self.measured: Measured | None = None
        self.n_in_flight = 0
        self._heard_at = time.monotonic()
        self._measuring: set[asyncio.Task[None]] = set()
        ours, theirs = socket.socketpair()
        with theirs:
            sockets = (theirs.fileno(), listener.fileno())
            try:
                self._process = _started(number, sockets)
            except OSError:
                ours.close()
                raise
        self._channel = Channel(ours, handlers)
        self._talking = asyncio.create_task(self._channel.run())
        self._talking.add_done_callback(lambda _: self.gone.set())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def start(
        self, packed: str, place: Place | None, made_by: str, *, timeout_s: float
    ) -> None:
        """Have it load everything and listen.

        Raises:
            ChannelClosedError: It is gone.
            RefusedError: It could not, or not in time.
        """
        await self.ask("start", packed, place, made_by, timeout_s=timeout_s)
        self._heard_at = time.monotonic()

    async def watch(self, stand: Stand) -> str:
        """Tell what became of it when it is gone, or answers nothing any more.

        Args:
            stand: Its socket, at which the owner answers too while it is silent.
        """
        while not self.gone.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(MEASURE_EVERY_S):
                    await self.gone.wait()
            await self.measure()
            silent_s = time.monotonic() - self._heard_at
            if silent_s > HUNG_S:
                return f"has answered nothing for {HUNG_S:g} s"
            if silent_s > SILENT_S:
                with suppress(OSError):  # no room for it, perhaps the next time
                    await stand.open()
            else:
                stand.close()
        return "has died"

    async def ask(self, name: str, *args: Any, timeout_s: float | None = None) -> Any:
        """Ask it.

        Raises:
            ChannelClosedError: It is gone.
            RefusedError: It could not do so, or not in so many seconds.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await self._channel.call(name, *args)
        except TimeoutError:
            raise RefusedError(f"no answer for {timeout_s:g} s") from None

    async def tell(self, name: str, *args: Any) -> None:
        """Tell it, if it is still there."""
        try:
            await self.ask(name, *args)
        except ChannelClosedError:
            return
        except RefusedError as error:
            logger.error("front end %d, told to %s: %s", self.number, name, error)  # noqa: TRY400  # a sentence

    async def measure(self) -> None:
        """Have it tell what it has measured; wait for that if it does so soon.

        What is told later counts, too: one that is busy is not one that hangs.
        """
        measuring = asyncio.create_task(self._measure())
        self._measuring.add(measuring)
        measuring.add_done_callback(self._measuring.discard)
        await asyncio.wait({measuring}, timeout=MEASURE_TIMEOUT_S)

    async def _measure(self) -> None:
        with suppress(ChannelClosedError, RefusedError):
            self.measured, self.n_in_flight = await self.ask("measure")
            self._heard_at = time.monotonic()

    async def exited(self, timeout_s: float | None = None) -> None:
        """Wait until its process is gone; after so many seconds it is killed."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._exited()
        except TimeoutError:
            self.kill()
            await self._exited()

    async def _exited(self) -> None:
        while self._process.poll() is None:  # noqa: ASYNC110  # no loop tells of it
            await asyncio.sleep(LOOK_S)

    def kill(self) -> None:
        """End its process at once."""
        self._process.kill()

    async def end(self) -> None:
        """End its process at once, if it is still there, and what it was asked."""
        self.kill()
        await self.exited()
        self._talking.cancel()
        await asyncio.wait({self._talking})
        self._channel.close()


def _started(number: int, sockets: tuple[int, int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # this very program
        [
            *(sys.executable, "-P", "-m", "app.frontends"),
            *map(str, sockets),
            f"front-end-{number}",
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=sockets,
        stdin=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C is for the owner
    )
