"""The models behind the ingress."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from app.flights import Flights
from app.ray.backend import Backend
from containers.settings import Settings

LEAST_WAIT_S = 1.0
"""Seconds that it may take a replica to say that it takes a request, at the least."""


class Models:
    """The backends, and the requests that are being passed on to them.

    Args:
        handles: Ray Serve's handle of each deployment, by its model's primary name.
        settings: The settings of the whole application.

    Attributes:
        backends: The models, the default one first.
        flights: The requests being answered.
        wait_s: Seconds a request waits for a replica that takes it.
    """

    def __init__(self, handles: Mapping[str, Any], settings: Settings) -> None:
        self.flights = Flights()
        self.backends = tuple(
            Backend(handles[model.name], model) for model in settings.models
        )
        self._learning: set[asyncio.Task[None]] = set()
        self.take(settings)

    def take(self, settings: Settings) -> None:
        """Take the names, and what else may change, of new settings."""
        self.wait_s = max(settings.server.load_wait_s, LEAST_WAIT_S)
        self.requires_all = settings.server.require_all_models
        by_name = {model.name: model for model in settings.models}
        for backend in self.backends:
            backend.settings = by_name.get(backend.name, backend.settings)

    def learn(self) -> None:
        """Ask each model in the background what it can do, again and again."""
        for backend in self.backends:
            task = asyncio.create_task(backend.keep_learning())
            self._learning.add(task)
            task.add_done_callback(self._learning.discard)

    def stop(self) -> None:
        """Ask no more."""
        for task in self._learning:
            task.cancel()

    async def troubles(self) -> dict[str, str]:
        """Why each model should get no traffic, or an empty string, by its name."""
        found = await asyncio.gather(*(each.trouble() for each in self.backends))
        return {
            backend.name: "" if backend.may_be_none else trouble
            for backend, trouble in zip(self.backends, found, strict=True)
        }

    def trouble(self, troubles: Mapping[str, str]) -> str:
        """Why no traffic should come here, by those of each model."""
        is_enough = all if self.requires_all else any
        is_well = is_enough(not each for each in troubles.values())
        return "" if is_well else max(troubles.values())
