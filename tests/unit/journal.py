"""Builders that write down what happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any


class Made:
    """An object of a resource, equal to nothing but itself."""

    def __init__(self, name: str, parts: dict[str, Any]) -> None:
        self.name = name
        self.parts = parts


class Journal:
    """Makes builders; ``events`` holds ``+name`` and ``-name`` in their order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    @property
    def opened(self) -> list[str]:
        return [event[1:] for event in self.events if event[0] == "+"]

    @property
    def closed(self) -> list[str]:
        return [event[1:] for event in self.events if event[0] == "-"]

    def make(self, name: str, parts: dict[str, Any]) -> Made:
        self.events.append(f"+{name}")
        return Made(name, parts)

    def function(self, name: str) -> Callable[..., Made]:
        return lambda **parts: self.make(name, parts)

    def coroutine(self, name: str) -> Callable[..., Any]:
        async def build(**parts: Any) -> Made:
            return self.make(name, parts)

        return build

    def generator(
        self, name: str, *, close_error: BaseException | None = None
    ) -> Callable[..., Iterator[Made]]:
        def build(**parts: Any) -> Iterator[Made]:
            made = self.make(name, parts)
            try:
                yield made
            finally:
                self._close(name, close_error)

        return build

    def async_generator(
        self,
        name: str,
        *,
        close_error: BaseException | None = None,
        close_gate: asyncio.Event | None = None,
    ) -> Callable[..., AsyncIterator[Made]]:
        async def build(**parts: Any) -> AsyncIterator[Made]:
            made = self.make(name, parts)
            try:
                yield made
            finally:
                if close_gate is not None:
                    await close_gate.wait()
                await asyncio.sleep(0)
                self._close(name, close_error)

        return build

    def failing(self, error: BaseException) -> Callable[..., Any]:
        async def build(**_: Any) -> None:
            await asyncio.sleep(0)
            raise error

        return build

    def hanging(self, name: str) -> Callable[..., Any]:
        async def build(**_: Any) -> None:
            self.events.append(f"?{name}")
            try:
                await asyncio.Event().wait()
            finally:
                self.events.append(f"!{name}")

        return build

    def _close(self, name: str, error: BaseException | None) -> None:
        self.events.append(f"-{name}")
        if error is not None:
            raise error


def chain(journal: Journal, **builders: Any) -> Any:
    """A container of resources, each using the one before; generators by default."""
    from dependency_injector import containers

    from containers.lifecycle import LoadedContainer, Resource

    class Chain(containers.DeclarativeContainer):
        instance_type = LoadedContainer

    uses: dict[str, Any] = {}
    for name, builder in builders.items():
        resource = Resource(builder or journal.async_generator(name), **uses)
        setattr(Chain, name, resource)
        uses = {name: resource}
    return Chain()
