"""The process that owns the engine, and is one of its front ends."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence

from fastapi import FastAPI

from app.frontends.front_ends import FrontEnds
from app.frontends.listeners import Stand
from app.frontends.settings import application_of
from app.server import ServerProcess
from containers.settings import ServerSettings

logger = logging.getLogger(__name__)

MADE_BY = f"{application_of.__module__}:{application_of.__name__}"


class OwnerProcess(ServerProcess):
    """Serves as one process does, with other front ends beside it.

    Args:
        app: App made with ``wait_until_ready=False``.
        settings: Server settings.
        listeners: A listening socket for each front end; the first is its own.
        on_ready: Called when the model is loaded.
        on_failure: Called with what failed, and with what becomes of the others.
        made_by: ``module:function`` of what makes a front end's container of settings.
    """

    def __init__(  # noqa: PLR0913  # those of one process, and two more
        self,
        app: FastAPI,
        settings: ServerSettings,
        listeners: Sequence[socket.socket],
        *,
        on_ready: Callable[[], None],
        on_failure: Callable[[str], None],
        made_by: str = MADE_BY,
    ) -> None:
        super().__init__(app, settings, on_ready=on_ready, on_failure=on_failure)
        self._stands = [Stand(each, self._server) for each in listeners[1:]]
        self._others = FrontEnds(
            app, self._service, self._stands, made_by=made_by, say=on_failure
        )
        self._service.others = self._others
        self._is_ready = asyncio.Event()
        self._draining: asyncio.Task[None] | None = None

    def _beside(self) -> list[asyncio.Task[None]]:
        return [*super()._beside(), asyncio.create_task(self._have_others())]

    async def _have_others(self) -> None:
        await self._server.is_up.wait()
        for stand in self._stands:
            await stand.open()
        await self._is_ready.wait()
        try:
            await self._others.run()
        except Exception:
            logger.exception("This process answers all requests by itself from now on")

    def _on_change(self) -> None:
        super()._on_change()
        if self._service.state == "ready":
            self._is_ready.set()
        elif self._service.state == "draining":
            self._drain_others(
                self._service.container.settings().server.drain_timeout_s
            )

    def _on_signal(self) -> None:
        is_second = self._ending is not None
        super()._on_signal()
        if is_second:
            self._cutting = asyncio.ensure_future(self._others.cut())

    async def _drain(self, timeout_s: float) -> None:
        if self._service.state == "engine dead":
            await self._others.fail()
        draining = self._drain_others(timeout_s)
        await self._service.drain(timeout_s=timeout_s)
        await asyncio.wait({draining})
        await super()._drain(0)

    def _drain_others(self, timeout_s: float) -> asyncio.Task[None]:
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._others.drain(timeout_s))
        return self._draining
