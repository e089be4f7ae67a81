"""A model as the ingress knows it: its names, what it can, and how it is asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from app.exchange import Asked, Part
from containers.errors import NotReadyError
from containers.masks import masked
from containers.settings import ModelSettings

logger = logging.getLogger("ray.serve")

STATE_TIMEOUT_S = 2.0
FRESH_S = 1.0
"""Seconds for which a model that was heard of counts as well."""
LEARN_EVERY_S = 10.0
ALL_TIMEOUT_S = 60.0
"""Seconds all replicas of a model have to answer what is asked of each of them."""


class Backend:
    """The replicas of one model.

    Args:
        handle: Ray Serve's handle of its deployment.
        settings: The model's settings.

    Attributes:
        settings: The same; the names may change while it serves.
        providers: Names of the providers it has an object of; ``None`` until it has
            told, once its first replica is there.
        cards: What it last said at ``/v1/models``.
    """

    def __init__(self, handle: Any, settings: ModelSettings) -> None:
        self._handle = handle
        # Parts of an answer come over gRPC: Ray's objects cost several times as much.
        self._streams = handle.options(
            stream=True,
            _by_reference=False,
            request_serialization="pickle",
            response_serialization="pickle",
        )
        self.settings = settings
        self.providers: frozenset[str] | None = None
        self.cards: list[Any] = []
        self._heard_s = float("-inf")

    @property
    def name(self) -> str:
        """Primary name of the model."""
        return self.settings.name

    @property
    def adapters(self) -> Sequence[str]:
        """Names of its adapters."""
        return [module.name for module in self.settings.lora.modules]

    @property
    def may_be_none(self) -> bool:
        """Whether it has no replica at times, and gets one by being asked."""
        autoscaling = self.settings.ray.autoscaling
        return autoscaling is not None and autoscaling.min_replicas == 0

    def can(self, provider: str) -> bool | None:
        """Whether it has such an object; ``None`` if that is not known yet."""
        return None if self.providers is None else provider in self.providers

    async def parts(
        self, asked: Asked, *, wait_s: float, is_admin: bool = False
    ) -> AsyncGenerator[Part, None]:
        """Parts of one replica's answer; to close it early ends the generation.

        Args:
            asked: The request.
            wait_s: Seconds to wait for a replica that takes it.
            is_admin: Whether it bears an admin key.

        Raises:
            NotReadyError: No replica has taken it, or the one that had is gone.
        """
        from grpc import RpcError
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        response = self._streams.answer.remote(asked, is_admin=is_admin)
        try:
            # Ray gives no public word that a replica has taken a request.
            async with asyncio.timeout(wait_s):
                await response._fetch_future_result_async()  # noqa: SLF001  # as said
            async for part in response:
                self._heard_s = time.monotonic()
                yield part
        except (RayError, RayServeException, RpcError, TimeoutError) as error:
            raise self._unavailable(error) from error
        finally:
            response.cancel()

    async def all(self, asked: Asked, *, is_admin: bool = False) -> list[Part]:
        """The answer of each replica.

        Raises:
            NotReadyError: There is none, or one has not answered.
        """
        return await self._broadcast("answer_whole", asked, is_admin=is_admin)

    async def measured(self) -> list[tuple[str, bytes]]:
        """Metrics of each replica, with its name."""
        return await self._broadcast("measured")

    async def trouble(self) -> str:
        """Why it should get no traffic, or an empty string."""
        if time.monotonic() - self._heard_s < FRESH_S:
            return ""
        try:
            async with asyncio.timeout(STATE_TIMEOUT_S):
                found: str = await self._handle.trouble.remote()
        except TimeoutError:
            return "no replica"
        except Exception as error:  # noqa: BLE001  # whatever fails is the finding
            return f"no replica: {type(error).__name__}"
        return found

    async def keep_learning(self) -> None:
        """Ask what the model can do, again and again: new replicas may be of another.

        The first question waits until there is one.
        """
        while True:
            try:
                await self.learn()
            except Exception as error:  # noqa: BLE001  # of a replica that starts or goes
                logger.debug(
                    "%s has not told what it can do: %s", self.name, masked(error)
                )
            await asyncio.sleep(LEARN_EVERY_S if self.providers else FRESH_S)

    async def learn(self) -> None:
        """Ask what the model can do."""
        self.providers = frozenset(await self._handle.able.remote())
        self._heard_s = time.monotonic()

    async def _broadcast(self, method: str, *args: Any, **kwargs: Any) -> list[Any]:
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        try:
            response = self._handle.broadcast(method, *args, **kwargs)
            answers: list[Any] = await response.results_async(timeout_s=ALL_TIMEOUT_S)
        except (RayError, RayServeException, TimeoutError) as error:
            raise self._unavailable(error) from error
        return answers

    def _unavailable(self, error: Exception) -> NotReadyError:
        from ray.exceptions import RayTaskError
        from ray.serve.exceptions import (
            BackPressureError,
            DeploymentUnavailableError,
        )

        if isinstance(error, RayTaskError):
            logger.error("a replica of %s failed: %s", self.name, masked(error))
        state, hint = "its replica is gone", "Ask again."
        if isinstance(error, TimeoutError | DeploymentUnavailableError):
            state = "no replica takes a request"
        elif isinstance(error, BackPressureError):
            state = "as many requests wait for it as may"
        return NotReadyError(
            provider=f"the model {self.name!r}", state=state, hint=hint
        )
