"""Serving objects of models that may have to be loaded first."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from containers.errors import ServingError, UnsupportedTaskError
from containers.registry.held_events import HeldEvents

if TYPE_CHECKING:
    from containers.registry.residency import Residency
    from containers.registry.served_model import ServedModel

COMMENT = ": keep-alive\n\n"
"""What a stream gets while its model loads; clients skip it."""

COMMENT_EVERY_S = 10.0
"""Seconds between two, where ``server.sse_keep_alive_interval`` says nothing."""


class RefusedError(ServingError):
    """A stream that had begun while its model loaded was then refused.

    Attributes:
        error_response: vLLM's ``ErrorResponse``.
    """

    def __init__(self, error_response: Any) -> None:
        self.error_response = error_response
        super().__init__(error_response)

    def __str__(self) -> str:
        return str(self.error_response.error.message)


class Awaited:
    """Stands for a serving object: each call loads the model first, if need be.

    From the call until its answer has ended the model is in use, and stays.

    Args:
        residency: Loads the model.
        model: The model.
        provider: Name of the serving object's provider.
    """

    def __init__(self, residency: Residency, model: ServedModel, provider: str) -> None:
        self._residency = residency
        self._model = model
        self._provider = provider

    def __getattr__(self, name: str) -> Any:
        if self._model.is_ready and not name.startswith("__"):
            found = getattr(self._serving(), name)
            if not inspect.iscoroutinefunction(found):
                return found
        return partial(self._call, name)

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the serving object itself, as pooling ones are."""
        return await self._call("__call__", *args, **kwargs)

    async def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        use = self._model.uses.begin()
        is_held = False
        try:
            answering = partial(self._answered, method, args, kwargs)
            if not self._model.is_ready and _streams(args):
                result = await self._opened(answering)
            else:
                result = await answering()
            is_held = isinstance(result, AsyncGenerator)
            return HeldEvents(result, use) if is_held else result
        finally:
            if not is_held:
                use.release()

    async def _opened(self, answering: Callable[[], Awaitable[Any]]) -> Any:
        """The result, or after a while a stream that waits for it with comments."""
        opening = asyncio.ensure_future(answering())
        interval_s = self._residency.server.sse_keep_alive_interval or COMMENT_EVERY_S
        try:
            await asyncio.wait({opening}, timeout=interval_s)
        except asyncio.CancelledError:
            opening.cancel()
            await asyncio.wait({opening})
            raise
        if opening.done():
            return opening.result()
        return self._late(opening, interval_s)

    async def _answered(self, method: str, args: Any, kwargs: Any) -> Any:
        await self._residency.load(self._model)
        return await getattr(self._serving(), method)(*args, **kwargs)

    async def _late(
        self, opening: asyncio.Future[Any], interval_s: float
    ) -> AsyncGenerator[Any, None]:
        """Comments until an answer has begun, then its events."""
        try:
            while not opening.done():
                yield COMMENT
                with self._residency.aside():
                    await asyncio.wait({opening}, timeout=interval_s)
            result = opening.result()
            if not isinstance(result, AsyncGenerator):
                raise RefusedError(result)
            async with aclosing(result) as events:
                async for event in events:
                    yield event
        finally:
            if opening.cancel():
                await asyncio.wait({opening})

    def _serving(self) -> Any:
        serving = getattr(self._model.loaded, self._provider)
        if serving is None:
            raise UnsupportedTaskError(
                model=self._model.name,
                provider=self._provider,
                able=self._residency.able(self._provider),
            )
        return serving


def _streams(args: tuple[Any, ...]) -> bool:
    return any(getattr(each, "stream", False) is True for each in args)
