"""An HTTP server process: one app, its signals, its exit status."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

import uvicorn
from fastapi import FastAPI

from app.certificates import refresh_certificates
from app.file_changes import changes, files_of
from app.http_config import check_certificates, listening_socket, uvicorn_config
from app.service import STATE_ATTRIBUTE, Service
from containers.errors import ServingError
from containers.settings import ServerSettings

EXIT_OK = 0
EXIT_FAILED = 1

CLOSE_TIMEOUT_S = 5
"""Seconds connections have to close once nothing is in flight any more."""
DEATH_TIMEOUT_S = 5.0
"""Seconds requests have to be answered after their engine died."""
PATIENCE_S = 2.0
"""Seconds a start that was told to end may wait for what cannot be interrupted."""
FORCE_AFTER_S = 10.0
"""Seconds more than all timeouts together before the process is ended by force."""


def listen(server: ServerSettings) -> socket.socket:
    """Bind the server's address, before anything expensive is started.

    Raises:
        SettingsError: The address is taken, or not this machine's, or a certificate
            cannot be used.
    """
    check_certificates(server)
    return listening_socket(server)


class Server(uvicorn.Server):
    """uvicorn whose signals are ours to answer, also while models load.

    Attributes:
        is_up: Set once it listens.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the app, and listen."""
        await super().startup(sockets)
        self.is_up.set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals alone: uvicorn would raise them anew after its shutdown."""
        yield

    async def accept(self, listener: socket.socket) -> asyncio.Server:
        """Accept connections at one more socket, while it runs.

        Args:
            listener: A listening socket; it is closed with what is returned.
        """
        config, loop = self.config, asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            made: asyncio.Protocol = config.http_protocol_class(  # type: ignore[call-arg]  # as uvicorn does
                config=config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            return made

        accepting = await loop.create_server(
            protocol, sock=listener, ssl=config.ssl, backlog=config.backlog
        )
        self.servers.append(accepting)
        return accepting

    def accept_no_more(self, accepting: asyncio.Server) -> None:
        """Take :meth:`accept` back; connections that are open stay so."""
        accepting.close()
        self.servers.remove(accepting)


class ServerProcess:
    """Serves an app until a signal comes, its start fails or its engine dies.

    Args:
        app: App made with ``wait_until_ready=False``.
        settings: Server settings.
        on_ready: Called when the model is loaded.
        on_failure: Called with what failed (the start, the engine, a reload), and with
            what a reload has changed.
    """

    def __init__(
        self,
        app: FastAPI,
        settings: ServerSettings,
        *,
        on_ready: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._service: Service = getattr(app.state, STATE_ATTRIBUTE)
        self._service.on_change = self._on_change
        self._heap = self._service.heap()
        self._settings = settings
        self._on_ready = on_ready
        self._say = on_failure
        self._reloading: set[asyncio.Task[None]] = set()
        self._ready = asyncio.Event()
        self._status = EXIT_OK
        self._ending: asyncio.Task[None] | None = None
        self._server = Server(
            uvicorn_config(app, settings, close_timeout_s=CLOSE_TIMEOUT_S)
        )

    async def run(self, listener: socket.socket) -> int:
        """Serve on a bound socket and return the process' exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)
        beside = self._beside()
        try:
            await self._server.serve(sockets=[listener])
        finally:
            for task in beside:
                task.cancel()
        return self._status

    def _beside(self) -> list[asyncio.Task[None]]:
        """What goes on while it serves."""
        beside = [
            asyncio.create_task(self._watch_files()),
            asyncio.create_task(self._heap.tend()),
        ]
        if refreshing := self._refresh_certificates():
            beside.append(refreshing)
        return beside

    def _refresh_certificates(self) -> asyncio.Task[None] | None:
        context = self._server.config.ssl
        if context is None or not self._settings.enable_ssl_refresh:
            return None
        return asyncio.create_task(refresh_certificates(context, self._settings))

    def _on_signal(self) -> None:
        if self._ending is None:
            self._end(self._settings.drain_timeout_s)
        else:
            self._service.flights.end_all()

    def _on_hangup(self) -> None:
        reloading = asyncio.ensure_future(self._reload())
        self._reloading.add(reloading)
        reloading.add_done_callback(self._reloading.discard)

    async def _watch_files(self) -> None:
        async for files in changes(partial(files_of, self._service)):
            await self._ready.wait()  # a change while it starts counts, too
            if self._service.reloads_on_change:
                self._say(f"{', '.join(files)} changed")
                await self._reload()

    async def _reload(self) -> None:
        try:
            change = await self._service.reload_from_source()
        except ServingError as error:
            self._say(f"everything stays as it was: {error}")
        else:
            n_rebuilt = sum(bool(plan.rebuilt) for plan in change.plans)
            n_others = len(change.added) + len(change.removed)
            self._say(f"reloaded: {n_rebuilt + n_others} models have changed")

    def _on_change(self) -> None:
        if self._service.state == "ready":
            self._heap.freeze()
            self._ready.set()
            self._on_ready()
        elif self._service.state == "failed":
            self._fail(f"the start failed: {self._service.error}", 0)
        elif self._service.state == "engine dead":
            self._fail("the engine's process has died", DEATH_TIMEOUT_S)

    def _fail(self, reason: str, timeout_s: float) -> None:
        if self._ending is None or self._service.state == "engine dead":
            self._status = EXIT_FAILED
        self._end(timeout_s)
        self._say(reason)

    def _end(self, drain_timeout_s: float) -> None:
        if self._ending is not None:
            return
        is_loading = self._service.state == "starting"
        self._ending = asyncio.ensure_future(self._drain(drain_timeout_s))
        bound_s = drain_timeout_s + CLOSE_TIMEOUT_S + self._settings.stop_timeout_s
        later(bound_s + FORCE_AFTER_S, end_by_force)
        if is_loading:
            later(PATIENCE_S, leave_if_nothing_runs)

    async def _drain(self, timeout_s: float) -> None:
        # The port stays open meanwhile, so that probes can be told to stay away.
        await self._service.drain(timeout_s=timeout_s)
        self._service.is_leaving = True
        self._server.should_exit = True


def leave_if_nothing_runs() -> None:
    """End this process at once if all it waits for is an import in a thread.

    Python cannot interrupt that, and nothing has been started that would be left.
    """
    if not multiprocessing.active_children():
        os._exit(EXIT_OK)


def later(delay_s: float, action: Callable[[], None]) -> None:
    """Act after a while, in a thread that holds up no end."""
    timer = threading.Timer(delay_s, action)
    timer.daemon = True
    timer.start()


def end_by_force() -> None:
    """End this process and its children at once, when an orderly end takes too long."""
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(EXIT_FAILED)
