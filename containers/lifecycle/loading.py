"""How the object of a resource is made and closed, whatever provides it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

from dependency_injector import providers

from containers.graph.node import Provider
from containers.lifecycle.resource import BuilderKind, Resource
from containers.lifecycle.threads import held_in_thread


def loading(provider: Provider, name: str) -> AbstractAsyncContextManager[Any]:
    """A context manager that gives a provider's object and closes it at the end.

    What is loaded already belongs to somebody else: it is used, and not closed. So is
    what a provider other than a resource gives.

    Args:
        provider: What really provides, at the end of all overrides.
        name: Its name in the graph.
    """
    if isinstance(provider, providers.BaseResource) and not provider.initialized:
        if isinstance(provider, Resource):
            return _built(provider, name)
        return _library_resource(provider)
    return _asked(provider)


@asynccontextmanager
async def _asked(provider: Provider) -> AsyncIterator[Any]:
    yield await _plain(provider())


@asynccontextmanager
async def _built(resource: Resource[Any], name: str) -> AsyncIterator[Any]:
    args = [await _injected(value) for value in resource.args]
    kwargs = {key: await _injected(value) for key, value in resource.kwargs.items()}
    builder: Any = resource.provides
    kind = BuilderKind.of(builder)
    with _yielding_once():
        match kind:
            case BuilderKind.COROUTINE:
                yield await builder(*args, **kwargs)
            case BuilderKind.ASYNC_GENERATOR:
                async with asynccontextmanager(builder)(*args, **kwargs) as value:
                    yield value
            case BuilderKind.GENERATOR:
                manager = contextmanager(builder)(*args, **kwargs)
                async with held_in_thread(
                    manager, name=name, keeps_thread=True
                ) as value:
                    yield value
            case BuilderKind.FUNCTION:
                manager = _returned(builder, args, kwargs)
                async with held_in_thread(
                    manager, name=name, keeps_thread=False
                ) as value:
                    yield _finished(value)


@asynccontextmanager
async def _library_resource(
    resource: providers.BaseResource[Any],
) -> AsyncIterator[Any]:
    try:
        value = await _plain(_init(resource))
    except BaseException:
        # A failed task may stay cached; without this a retry gets the same error.
        resource.reset_state()  # type: ignore[attr-defined]  # missing in the stubs
        raise
    resource.disable_async_mode()  # from here on it gives its object, not a future
    try:
        yield value
    finally:
        closing = resource.shutdown()
        resource.reset_async_mode()
        if closing is not None:
            await closing


def _init(resource: providers.BaseResource[Any]) -> Any:
    """Start a library resource, whose bookkeeping eager tasks would upset."""
    loop = asyncio.get_running_loop()
    factory = loop.get_task_factory()
    loop.set_task_factory(None)
    try:
        return resource.init()
    finally:
        loop.set_task_factory(factory)


async def _injected(value: Any) -> Any:
    if providers.is_provider(value) and not providers.is_delegated(value):
        return await _plain(value())
    return value


async def _plain(value: Any) -> Any:
    if asyncio.isfuture(value) or asyncio.iscoroutine(value):
        return await value
    return value


@contextmanager
def _returned(builder: Any, args: list[Any], kwargs: dict[str, Any]) -> Iterator[Any]:
    yield builder(*args, **kwargs)


def _finished(value: Any) -> Any:
    """Refuse what a wrapped ``async def`` or generator returns instead of an object."""
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
    elif not inspect.isasyncgen(value):
        return value
    raise TypeError(
        f"the builder returned {type(value).__name__} instead of an object; pass the "
        "async or generator function itself, without a plain function around it"
    )


@contextmanager
def _yielding_once() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not str(error).startswith(
            ("generator didn't yield", "generator didn't stop")
        ):
            raise
        count = "none" if "yield" in str(error) else "more than one"
        raise RuntimeError(
            f"a builder yields exactly one object, this one yielded {count}"
        ) from error
