"""Events of a stream, which is a use of its model until it ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any

from containers.registry.uses import Use


class HeldEvents(AsyncGenerator[Any, None]):
    """An async generator that releases a use when it ends, is closed, or is dropped.

    A generator function would not: one that is closed before it has begun runs none of
    its code.

    Args:
        events: What a serving object gave.
        use: The use.
    """

    def __init__(self, events: AsyncGenerator[Any, None], use: Use) -> None:
        self._events = events
        self._use = use

    async def asend(self, value: None) -> Any:
        """The next event."""
        try:
            return await self._events.asend(value)
        except BaseException:
            self._use.release()
            raise

    async def athrow(
        self,
        typ: type[BaseException] | BaseException,
        val: object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any:
        """Raise an exception where the generator stands."""
        del val, tb
        try:
            return await self._events.athrow(typ)
        except BaseException:
            self._use.release()
            raise

    async def aclose(self) -> None:
        """Close the generator."""
        try:
            await self._events.aclose()
        finally:
            self._use.release()

    def __del__(self) -> None:
        self._use.release()
