"""An HTTP server process: one app, its signals, its exit status."""

from __future__ import annotations

import asyncio
import math
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from app.service import STATE_ATTRIBUTE, Service
from containers.errors import SettingsError
from containers.settings import ServerSettings

EXIT_OK = 0
EXIT_FAILED = 1


def listen(server: ServerSettings) -> socket.socket:
    """Bind the server's address, before anything expensive is started.

    Raises:
        SettingsError: The address is taken, or not this machine's.
    """
    try:
        family = socket.getaddrinfo(server.host, server.port)[0][0]
        return socket.create_server(
            (server.host, server.port), family=family, backlog=2048
        )
    except OSError as error:
        raise SettingsError(
            key="server",
            reason=f"cannot listen on {server.host}:{server.port}: {error.strerror}",
            hint="Set server.host and server.port to a free address of this machine.",
        ) from error


class Server(uvicorn.Server):
    """uvicorn whose signals are ours to answer, also while models load."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals alone: uvicorn would raise them anew after its shutdown."""
        yield


class ServerProcess:
    """Serves an app until a signal comes or its start fails.

    Args:
        app: App made with ``wait_until_ready=False``.
        settings: Server settings.
        on_ready: Called when the model is loaded.
        on_failure: Called with the error when it could not be loaded.
    """

    def __init__(
        self,
        app: FastAPI,
        settings: ServerSettings,
        *,
        on_ready: Callable[[], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._service: Service = getattr(app.state, STATE_ATTRIBUTE)
        self._service.on_change = self._on_change
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._status = EXIT_OK
        self._server = Server(
            uvicorn.Config(
                app,
                root_path=settings.root_path,
                log_level=settings.uvicorn_log_level,
                access_log=False,
                timeout_graceful_shutdown=math.ceil(settings.stop_timeout_s),
            )
        )

    async def run(self, listener: socket.socket) -> int:
        """Serve on a bound socket and return the process' exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        await self._server.serve(sockets=[listener])
        return self._status

    def _on_change(self) -> None:
        if self._service.state == "ready":
            self._on_ready()
        if self._service.error is not None:
            self._status = EXIT_FAILED
            self._server.should_exit = True
            self._on_failure(self._service.error)

    def _stop(self) -> None:
        if self._server.should_exit:
            self._server.force_exit = True
        self._server.should_exit = True
