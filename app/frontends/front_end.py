"""One front end that does not own the engine: a process of its own."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import threading
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any

from fastapi import FastAPI
from prometheus_client import REGISTRY, generate_latest

from app.certificates import refresh_certificates
from app.frontends.channel import Channel
from app.frontends.owned import OwnedPaths, OwnedRoutes
from app.frontends.settings import container_of, of_front_end
from app.http_config import uvicorn_config
from app.logs import logs, set_levels
from app.main import create_app
from app.metrics import own_metrics
from app.metrics.together import Measured
from app.quiet import be_quiet
from app.server import CLOSE_TIMEOUT_S, DEATH_TIMEOUT_S, EXIT_FAILED, EXIT_OK, Server
from app.service import STATE_ATTRIBUTE, Service
from containers.settings import Settings
from containers.settings.travel import unpacked
from containers.vllm_api.left_place import fail
from containers.vllm_api.sharing import Place
from containers.vllm_api.statistics import heard_at_s


class FrontEnd:
    """Serves until its owner says so, or is gone.

    Args:
        connection: The way to the owner.
        listener: The socket it listens at.
    """

    def __init__(self, connection: socket.socket, listener: socket.socket) -> None:
        self._listener = listener
        self._connection = connection
        self._owner = Channel(
            connection,
            {
                "start": self._start,
                "reload": self._reload,
                "measure": self._measure,
                "drain": self._drain,
                "cut": self._cut,
                "log": self._log,
                "reset_mm_cache": self._reset_mm_cache,
                "fail": self._fail,
            },
        )
        self._life = AsyncExitStack()
        self._is_over = asyncio.Event()
        self._settings: Settings | None = None
        self._started: Service | None = None
        self._beside: list[asyncio.Task[Any]] = []

    async def run(self) -> int:
        """Serve and return the process' exit status."""
        end_with(self._connection)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, lambda: None)  # they are for the owner
        loop.add_signal_handler(signal.SIGTERM, self._on_signal)
        asking = asyncio.create_task(self._owner.run())
        await self._is_over.wait()
        try:
            await self._life.aclose()
        finally:
            asking.cancel()
            self._owner.close()
        return EXIT_OK

    async def _start(
        self, packed: str, place: Place | None, made_by: str
    ) -> AsyncGenerator[int, None]:
        """Load everything and listen."""
        settings = self._settings = of_front_end(unpacked(packed))
        self._life.enter_context(logs(settings.server.logs, settings.models))
        be_quiet()
        app = create_app(container_of(settings, place, made_by))
        service: Service = getattr(app.state, STATE_ATTRIBUTE)
        service.on_change = self._on_change
        await self._life.enter_async_context(app.router.lifespan_context(app))
        self._started = service
        heap = service.heap()
        heap.freeze()
        self._beside.append(asyncio.create_task(heap.tend()))
        await self._listen(app, settings)
        yield os.getpid()

    async def _listen(self, app: FastAPI, settings: Settings) -> None:
        routes = OwnedRoutes(app, self._owner, OwnedPaths(app.routes))
        server = Server(
            uvicorn_config(
                routes,
                settings.server,
                close_timeout_s=CLOSE_TIMEOUT_S,
                lifespan="off",
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[self._listener]))
        self._life.push_async_callback(_close, server, serving)
        await server.is_up.wait()
        context = server.config.ssl
        if context is not None and settings.server.enable_ssl_refresh:
            refreshing = refresh_certificates(context, settings.server)
            self._beside.append(asyncio.create_task(refreshing))

    async def _reload(self, packed: str) -> AsyncGenerator[None, None]:
        await self._service.reload(of_front_end(unpacked(packed)))
        yield

    async def _measure(self) -> AsyncGenerator[tuple[Measured, int], None]:
        text = generate_latest(REGISTRY) + own_metrics(self._service)
        ready = [model for model in self._service.models if model.is_ready]
        heard_at = max((heard_at_s(each.loaded.engine) for each in ready), default=0.0)
        yield Measured(text, heard_at), self._service.flights.n

    async def _drain(self, timeout_s: float) -> AsyncGenerator[None, None]:
        await self._service.drain(timeout_s=timeout_s)
        self._service.is_leaving = True
        self._is_over.set()
        yield

    async def _cut(self) -> AsyncGenerator[None, None]:
        self._service.flights.end_all()
        yield

    async def _log(self, levels: dict[str, str | None]) -> AsyncGenerator[None, None]:
        set_levels(levels)
        yield

    async def _reset_mm_cache(self) -> AsyncGenerator[None, None]:
        for model in self._service.models:
            if model.is_ready:
                await model.loaded.engine.reset_mm_cache()
        yield

    async def _fail(self) -> AsyncGenerator[None, None]:
        for model in self._service.models:
            if model.is_ready:
                fail(model.loaded.engine)
        yield

    def _on_signal(self) -> None:
        timeout_s = self._settings.server.drain_timeout_s if self._settings else 0
        self._leave(timeout_s)

    def _on_change(self) -> None:
        if self._started is not None and self._started.state == "engine dead":
            self._leave(DEATH_TIMEOUT_S)

    @property
    def _service(self) -> Service:
        if self._started is None:
            raise RuntimeError("it has not started yet")
        return self._started

    def _leave(self, timeout_s: float) -> None:
        async def leave() -> None:
            async for _ in self._drain(timeout_s):
                pass

        if self._started is not None:
            self._beside.append(asyncio.ensure_future(leave()))
        else:
            os._exit(EXIT_FAILED)


def end_with(connection: socket.socket) -> None:
    """End this process at once when the process at the other end is gone.

    A thread sees to it, since the loop may be held up by an import.
    """
    own = connection.dup()
    poll = select.poll()
    poll.register(own, 0)

    def watch() -> None:
        poll.poll()
        own.close()
        os._exit(EXIT_FAILED)

    threading.Thread(target=watch, name="vllm-di owner watch", daemon=True).start()


async def _close(server: Server, serving: asyncio.Task[None]) -> None:
    server.should_exit = True
    await serving
