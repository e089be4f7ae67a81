"""The deployment before the models."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from app.ray.ending import when_told_to_end
from app.ray.front import Front
from app.ray.models import Models
from containers.errors import ServingError
from containers.masks import masked
from containers.settings import Settings
from containers.settings.travel import unpacked

logger = logging.getLogger("ray.serve")

LAST_ANSWERS_S = 5.0
"""Seconds after the time of the models' drain: what ends there passes through here."""


class Ingress:
    """Asks for keys, sets limits, and passes each request on to its model.

    It imports no vLLM, and does not wait for anything between two parts of an answer.

    Args:
        packed: The settings of the whole application.
        models: Ray Serve's handle of each model's deployment, by its primary name.
    """

    def __init__(self, packed: str, models: Mapping[str, Any]) -> None:
        self._packed = packed
        self._settings = unpacked(packed)
        self._models = Models(models, self._settings)
        self._front = Front(self._settings, self._models)
        self._models.learn()
        self._watch = asyncio.ensure_future(when_told_to_end(self._cut_later))

    def __serve_build_asgi_app__(self) -> FastAPI:  # Ray's name
        """The app that Ray Serve's proxies ask."""
        return self._front.app

    async def reconfigure(self, user_config: dict[str, Any]) -> None:
        """Take keys, limits and names of new settings; else all stays as it was.

        Args:
            user_config: As that of a model's replica.
        """
        try:
            packed = str(user_config.get("settings", self._packed))
            settings = unpacked(packed, user_config.get("set", ()))
            if settings != self._settings:
                self._take(settings)
        except ServingError as error:
            # To raise would have Ray end this replica, which serves well.
            logger.error("everything stays as it was: %s", masked(error))  # noqa: TRY400  # a sentence

    def _take(self, settings: Settings) -> None:
        self._front.guards.check(settings.server)
        self._front.guards.reload(settings.server)
        self._models.take(settings)
        self._settings = settings

    async def __del__(self) -> None:
        self._models.stop()
        self._watch.cancel()

    async def _cut_later(self) -> None:
        await asyncio.sleep(self._settings.server.drain_timeout_s + LAST_ANSWERS_S)
        self._models.flights.end_all()
