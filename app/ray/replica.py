"""One replica of a model: its container, and the app around it, in Ray's actor."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack
from secrets import token_hex
from typing import Any

from app.exchange import Asked, Exchange, Headers, Part
from app.main import create_app
from app.quiet import be_quiet
from app.ray.container import container_of
from app.ray.ending import when_told_to_end
from app.ray.narrowing import settings_of_replica
from app.server import DEATH_TIMEOUT_S
from app.service import STATE_ATTRIBUTE, Service
from containers.errors import NotReadyError, ServingError
from containers.masks import masked
from containers.settings import Settings
from containers.settings.travel import unpacked

logger = logging.getLogger("ray.serve")

AUTHORIZATION = b"authorization"


class ModelReplica:
    """Serves one model; Ray Serve makes it, asks how it is, and ends it.

    Its container starts in the loop that Ray runs it in. What the ingress has let
    through needs no key here.

    Args:
        packed: The settings of the whole application.
        name: Primary name of its model.
    """

    def __init__(self, packed: str, name: str) -> None:
        be_quiet()
        self._packed = self._now = packed
        self._name = name
        self._key = token_hex()
        self._settings = self._narrowed(packed, ())
        self._life = AsyncExitStack()
        self._beside: list[asyncio.Task[None]] = []
        self._ending: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Load the model.

        Raises:
            ServingError: It cannot be loaded; Ray shows the text, and tries again.
        """
        self._app = create_app(container_of(self._settings))
        self._service: Service = getattr(self._app.state, STATE_ATTRIBUTE)
        self._service.on_change = self._on_change
        await self._life.enter_async_context(
            self._app.router.lifespan_context(self._app)
        )
        heap = self._service.heap()
        heap.freeze()
        self._beside = [
            asyncio.create_task(heap.tend()),
            asyncio.create_task(when_told_to_end(self._drain)),
        ]

    async def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Change to new settings, if they can be changed to; else all stays as it was.

        Args:
            user_config: ``settings`` as the application was built with, or ``set``, a
                list of ``KEY=VALUE`` on top of those that this replica began with.
        """
        packed = str(user_config.get("settings", self._packed))
        overrides = user_config.get("set", ())
        async with self._turn:
            try:
                settings = self._narrowed(packed, overrides)
                if settings != self._settings:
                    await self._service.reload(settings)
                    self._settings = settings
            except ServingError as error:
                # To raise would have Ray end this replica, which serves well.
                logger.error("everything stays as it was: %s", masked(error))  # noqa: TRY400  # a sentence

    async def check_health(self) -> None:
        """Return while the model can answer, or is being healed.

        Raises:
            NotReadyError: Its engine is dead, or its canary is; Ray replaces it.
        """
        service = self._service
        for model in service.models:
            state = service.state if service.state != "ready" else model.state
            trouble = service.supervisor.trouble_of(model)
            if state in ("engine dead", "failed", "stopped") or trouble:
                raise NotReadyError(
                    provider=f"the model {model.name!r}",
                    state=trouble or state,
                    hint="Ray replaces this replica.",
                )
            if model.is_ready:
                await model.loaded.engine.check_health()

    async def answer(
        self, asked: Asked, *, is_admin: bool = False
    ) -> AsyncGenerator[Part, None]:
        """Parts of the answer to a request; to close it early ends the generation."""
        if is_admin:
            asked = self._as_admin(asked)
        async for part in Exchange(self._app, asked).parts():
            yield part

    async def answer_whole(self, asked: Asked, *, is_admin: bool = False) -> Part:
        """The whole answer to a request that does not stream."""
        status, body = 0, b""
        headers: Headers = []
        async for part in self.answer(asked, is_admin=is_admin):
            status, headers = part[0] or status, part[1] or headers
            body += part[2]
        return status, headers, body, True

    async def trouble(self) -> str:
        """Why this replica should get no traffic, or an empty string."""
        try:
            await self.check_health()
        except Exception as error:  # noqa: BLE001  # whatever fails is the finding
            return str(error)
        (model,) = self._service.models
        return self._service.trouble_of(model)

    async def measured(self) -> tuple[str, bytes]:
        """The name of this replica, and its metrics in Prometheus' text format."""
        from ray import serve

        _, _, body, _ = await self.answer_whole(Asked("GET", "/metrics", b"", [], b""))
        return serve.get_replica_context().replica_id.unique_id, body

    async def able(self) -> Sequence[str]:
        """Names of the providers that this model has an object of."""
        (model,) = self._service.models
        objects = vars(model.loaded).items()
        return [name for name, each in objects if each is not None]

    async def stop(self) -> None:
        """Close what was loaded."""
        for task in self._beside:
            task.cancel()
        await self._life.aclose()

    def _narrowed(self, packed: str, overrides: Sequence[str]) -> Settings:
        settings = unpacked(packed, overrides)
        return settings_of_replica(settings, self._name, admin_key=self._key)

    def _as_admin(self, asked: Asked) -> Asked:
        headers = [each for each in asked.headers if each[0] != AUTHORIZATION]
        headers.append((AUTHORIZATION, f"Bearer {self._key}".encode()))
        return Asked(asked.method, asked.path, asked.query, headers, asked.body)

    def _on_change(self) -> None:
        if self._service.state == "engine dead" and self._ending is None:
            self._ending = asyncio.ensure_future(self._leave())

    async def _leave(self) -> None:
        """End this process once its requests have been told: Ray makes another one.

        A replica that answers errors at once would attract requests.
        """
        logger.error("the engine's process has died: this replica ends")
        await self._service.drain(timeout_s=DEATH_TIMEOUT_S)
        try:
            await self._life.aclose()
        finally:
            os._exit(1)

    async def _drain(self) -> None:
        """Cut what is still in flight when its time is up.

        Until then what arrives is answered: who sent it had not heard of the end yet.
        """
        await asyncio.sleep(self._settings.server.drain_timeout_s)
        await self._service.drain(timeout_s=0)


class ModelDeployment(ModelReplica):
    """A replica as Ray Serve makes and ends it, both inside its running loop."""

    async def __init__(self, packed: str, name: str) -> None:  # type: ignore[misc]  # Ray awaits it
        super().__init__(packed, name)
        await self.start()

    async def __del__(self) -> None:
        await self.stop()
