"""An async generator that is fed by hand, item by item."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_HUNGRY: Any = object()
_OVER: Any = object()
_NOTHING: Any = object()


class HandFed(Generic[T]):
    """Runs a generator over items that are handed to it, and stops it in between.

    The generator believes that it iterates over a stream. Where that has no next item
    yet, the generator is left as it stands: no task, no queue and no turn of the event
    loop lies between an item and what is made of it. Whatever else it awaits is
    awaited in the caller's task.

    Args:
        generate: Makes the generator, given the stream that it is to iterate over.
    """

    def __init__(
        self, generate: Callable[[AsyncIterator[Any]], AsyncGenerator[T, None]]
    ) -> None:
        self._inlet = _Inlet()
        self._generator = generate(self._inlet)
        self._hungry: Any = None
        self.is_over = False

    async def take(self, item: Any) -> list[T]:
        """Hand it an item; gives all it makes until it wants another."""
        self._inlet.put(item)
        return await self._run()

    async def end(self) -> list[T]:
        """Tell it that there are no more items; gives all it makes of that."""
        return await self.fail(StopAsyncIteration())

    async def fail(self, error: Exception) -> list[T]:
        """Let its stream raise an error; gives all it makes of that."""
        self._inlet.put_error(error)
        return await self._run()

    async def aclose(self) -> None:
        """End it wherever it stands, as a cancellation would."""
        hungry, self._hungry, self.is_over = self._hungry, None, True
        if hungry is not None:
            with suppress(CancelledError, StopAsyncIteration):
                hungry.throw(CancelledError())
        await self._generator.aclose()

    async def _run(self) -> list[T]:
        made: list[T] = []
        while not self.is_over:
            step = self._hungry or self._generator.__anext__()
            self._hungry = None
            self.is_over = True  # unless it says otherwise
            outcome = await _Step(step)
            self.is_over = outcome is _OVER
            if outcome is _HUNGRY:
                self._hungry = step
                break
            if not self.is_over:
                made.append(outcome)
        return made


class _Inlet:
    """The stream a fed generator iterates over; its own iterator and awaitable."""

    def __init__(self) -> None:
        self._item = _NOTHING
        self._error: Exception | None = None

    def put(self, item: Any) -> None:
        self._item = item

    def put_error(self, error: Exception) -> None:
        self._error = error

    def __aiter__(self) -> _Inlet:
        return self

    def __anext__(self) -> _Inlet:
        return self

    def __await__(self) -> Generator[Any, None, Any]:
        while self._item is _NOTHING and self._error is None:
            yield _HUNGRY
        if self._error is not None:
            raise self._error
        item, self._item = self._item, _NOTHING
        return item


class _Step:
    """One step of a generator, up to what it yields or to where it is hungry."""

    def __init__(self, step: Any) -> None:
        self._step = step

    def __await__(self) -> Generator[Any, Any, Any]:
        go_on, argument = self._step.send, None
        while True:
            try:
                awaited = go_on(argument)
            except StopIteration as stop:
                return stop.value
            except StopAsyncIteration:
                return _OVER
            if awaited is _HUNGRY:
                return _HUNGRY
            try:
                argument = yield awaited
                go_on = self._step.send
            except BaseException as error:  # noqa: BLE001  # handed on, whatever it is
                go_on, argument = self._step.throw, error
