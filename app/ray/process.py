"""``vllm-di serve --ray``: an application of Ray Serve, until a signal comes."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from app.file_changes import changes
from app.http_config import curl_address
from app.ray.application import application_of
from app.ray.checks import refuse_what_stays
from app.ray.deployment import trouble_of_deployment
from app.ray.routed import trouble_of_route
from app.server import (
    EXIT_FAILED,
    EXIT_OK,
    FORCE_AFTER_S,
    end_by_force,
    later,
    listen,
)
from containers.errors import ServingError, SettingsError
from containers.file_version import FileVersions
from containers.masks import masked
from containers.settings import Settings

LOCAL = "local"
ROUTED_TIMEOUT_S = 60.0
"""Seconds Ray's proxy has to learn the way to an application that runs."""


class RayProcess:
    """Deploys an application, again whenever its settings change, and takes it away.

    Args:
        load: Reads the settings.
        files: The files they come from, with their versions before.

    Raises:
        SettingsError: The settings are wrong or cannot be served with Ray, or the
            address is taken; nothing was started.
    """

    def __init__(
        self,
        load: Callable[[], Settings],
        files: FileVersions,
    ) -> None:
        self._load = load
        self._files = files
        self._settings = load()
        self._application = application_of(self._settings)
        server = self._settings.server
        listen(server).close()
        self._address = server.host, server.port
        self._url = curl_address(server, self._address)
        self._is_local = False
        self._deploying: asyncio.Task[bool] | None = None
        self._ending = asyncio.Event()
        self._hangup = asyncio.Event()

    async def run(self) -> int:
        """Serve, and return the exit status: 0 after a healthy end, else 1."""
        self._is_local = self._connect()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ending.set)
        loop.add_signal_handler(signal.SIGHUP, self._hangup.set)
        try:
            return await self._serve()
        finally:
            later(self._bound_s(), end_by_force)
            await self._deployment_over()
            await asyncio.to_thread(self._disconnect)

    async def _serve(self) -> int:
        deploying = asyncio.create_task(self._deploy(self._application))
        ending = asyncio.create_task(self._ending.wait())
        await asyncio.wait({deploying, ending}, return_when=asyncio.FIRST_COMPLETED)
        if self._ending.is_set():
            return EXIT_OK
        if not deploying.result():
            return EXIT_FAILED
        _say(f"ready: {self._url}")
        reloading = asyncio.create_task(self._reload_again_and_again())
        await ending
        reloading.cancel()
        return EXIT_OK

    async def _deployment_over(self) -> None:
        """Wait until nobody asks Ray any more."""
        self._ending.set()
        if self._deploying is not None:
            await asyncio.wait({self._deploying}, timeout=FORCE_AFTER_S)

    def _connect(self) -> bool:
        """Connect to a cluster, or make one; whether it is one of our own."""
        import ray
        from ray import serve

        settings = self._settings
        address = settings.ray.address or os.environ.get("RAY_ADDRESS") or LOCAL
        is_local = address == LOCAL
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        options: dict[str, Any] = {
            "address": address,
            "log_to_driver": False,
            "logging_level": logging.WARNING,
        }
        if is_local:
            options |= {"num_cpus": _cpus(settings), "include_dashboard": False}
        _say("starting Ray" if is_local else f"connecting to Ray at {address}")
        try:
            ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise SettingsError(
                key="ray.address",
                reason=f"is {address}, and there is no Ray to serve with: {error}",
                hint="Name a cluster's address, or leave it and RAY_ADDRESS out.",
            ) from error
        serve.start(
            http_options={
                "host": settings.server.host,
                "port": settings.server.port,
                "keep_alive_timeout_s": settings.server.timeout_keep_alive_s,
            }
        )
        return is_local

    async def _deploy(self, application: Any) -> bool:
        """Deploy it, and wait until it answers; whether it does.

        That goes on for a moment when it is cancelled, and the end waits for it.
        """
        self._deploying = asyncio.create_task(self._deployed(application))
        return await asyncio.shield(self._deploying)

    async def _deployed(self, application: Any) -> bool:
        trouble = await trouble_of_deployment(
            application,
            self._settings.ray,
            is_wanted=lambda: not self._ending.is_set(),
        )
        if self._ending.is_set():
            return False
        if trouble:
            _say(f"the deployment failed: {trouble}")
            return False
        return not self._is_local or await self._is_routed()

    async def _is_routed(self) -> bool:
        """Wait until the proxy of a cluster of our own passes requests on."""
        ray = self._settings.ray
        trouble = await trouble_of_route(
            self._address, ray.application, ray.route_prefix, timeout_s=ROUTED_TIMEOUT_S
        )
        if trouble:
            _say(
                f"the application runs, but Ray's proxy at {self._url} has had no way "
                f"to it for {ROUTED_TIMEOUT_S:g} s: {trouble}. See logs/serve/proxy_* "
                "in Ray's folder of this session (/tmp/ray/session_latest)"
            )
        return not trouble

    async def _reload_again_and_again(self) -> None:
        async for cause in self._causes():
            _say(cause)
            try:
                settings = self._load()
                refuse_what_stays(self._settings, settings)
                application = application_of(settings)
            except ServingError as error:
                _say(f"everything stays as it was: {masked(error)}")
                continue
            self._settings = settings
            if await self._deploy(application):
                _say("deployed again")

    async def _causes(self) -> AsyncIterator[str]:
        """Why to deploy again, whenever there is a cause."""
        queue: asyncio.Queue[str] = asyncio.Queue()

        async def on_hangup() -> None:
            while True:
                await self._hangup.wait()
                self._hangup.clear()
                queue.put_nowait("told to read the settings again")

        async def on_change() -> None:
            async for files in changes(lambda: self._files):
                if self._settings.server.reload_on_change:
                    queue.put_nowait(f"{', '.join(files)} changed")

        watching = asyncio.gather(on_hangup(), on_change())
        try:
            while True:
                yield await queue.get()
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    def _bound_s(self) -> float:
        """Seconds the end takes at the most; longer, and the cluster is gone."""
        server = self._settings.server
        return server.drain_timeout_s + server.stop_timeout_s + 3 * FORCE_AFTER_S

    def _disconnect(self) -> None:
        """Take the application away, once its requests are answered."""
        import ray
        from ray import serve

        serve.delete(self._settings.ray.application)
        if self._is_local:
            serve.shutdown()
        ray.shutdown()


def _cpus(settings: Settings) -> int:
    """CPUs a cluster of our own has: at least as many as its replicas ask for."""
    wanted = sum(
        each.num_cpus * each.most_replicas
        for each in (settings.ray.ingress, *(model.ray for model in settings.models))
    )
    return max(os.cpu_count() or 1, math.ceil(wanted))


def _say(text: str) -> None:
    print(f"vllm-di: {text}", file=sys.stderr, flush=True)
