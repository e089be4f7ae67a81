"""What it costs a request to be handed an object, way by way.

``python -m tests.docs.wiring_costs`` prints a table. Calls run in this process, without
a network, so they show the ways' own cost and nothing else.
"""
# ruff: noqa: B008, FAST002  # markers as default values are what is measured

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Annotated, Any

from dependency_injector import containers
from dependency_injector.wiring import Provide, inject
from fastapi import Depends, FastAPI, Request

from containers.lifecycle import LoadedContainer, Resource, running

N_REQUESTS = 400
N_ROUNDS = 5


class Container(containers.DeclarativeContainer):
    """A container with one resource."""

    instance_type = LoadedContainer

    thing = Resource(SimpleNamespace)


async def thing(request: Request) -> Any:
    """Depend on the object the way ``app.dependencies`` does."""
    return request.app.state.thing


app = FastAPI()


@app.get("/0")
async def state(request: Request) -> None:
    """request.app.state.thing"""
    assert request.app.state.thing


@app.get("/1")
async def dependency(thing: Annotated[Any, Depends(thing)]) -> None:
    """An alias of app, such as ServingChatDep"""
    assert thing


@app.get("/2")
@inject
async def wired(thing: Any = Depends(Provide[Container.thing])) -> None:
    """Depends(Provide[...])"""
    assert isinstance(thing, SimpleNamespace)


@app.get("/3")
@inject
async def wired_thrice(
    one: Any = Depends(Provide[Container.thing]),
    two: Any = Depends(Provide[Container.thing]),
    three: Any = Depends(Provide[Container.thing]),
) -> None:
    """Three of them"""
    assert one is two is three


WAYS = (state, dependency, wired, wired_thrice)


async def request_once(path: str) -> int:
    """Send one GET request to the app and return the status."""
    statuses: list[int] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]


async def microseconds(path: str) -> float:
    """Mean time of one request in the best round."""
    rounds = []
    for _ in range(N_ROUNDS):
        began = time.perf_counter()
        for _ in range(N_REQUESTS):
            assert await request_once(path) == 200
        rounds.append((time.perf_counter() - began) / N_REQUESTS * 1e6)
    return min(rounds)


@asynccontextmanager
async def wired_app() -> AsyncIterator[None]:
    """The routes wired, the object loaded."""
    container = Container()
    container.wire(modules=[sys.modules[__name__]], warn_unresolved=True)
    try:
        async with running(container) as loaded:
            app.state.thing = loaded.thing
            yield
    finally:
        container.unwire()


async def measure() -> dict[str, float]:
    """Microseconds a request, by way."""
    async with wired_app():
        return {
            str(way.__doc__): await microseconds(f"/{number}")
            for number, way in enumerate(WAYS)
        }


def table(costs: dict[str, float]) -> str:
    """One way a line: what it is, microseconds, and how many times the first."""
    plain, width = next(iter(costs.values())), max(map(len, costs))
    return "\n".join(
        f"{way:<{width}}  {cost:4.0f} us  {cost / plain:4.1f}"
        for way, cost in costs.items()
    )


if __name__ == "__main__":
    print(table(asyncio.run(measure())))  # noqa: T201  # a program
