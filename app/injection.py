"""Routes of a host's own whose injected objects are read, not solved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar
from weakref import ref

from fastapi import FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, request_response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from app.service import STATE_ATTRIBUTE, Service
from containers.errors import ServingError
from containers.lifecycle import Running
from containers.registry import ModelRegistry

T = TypeVar("T")

READ = "vllm_di_read"
"""Attribute of a dependency of ours: what gives its object at once."""

_FOUND = "vllm_di.found"
_REQUEST = "vllm_di_request"


class Hand:
    """What objects are read from.

    Args:
        models: The models.
        loaded: Loaded objects of the default one.

    Attributes:
        models: The same.
        loaded: The same.
        is_enough: Whether all that was read is the default model's, or the models.
    """

    __slots__ = ("is_enough", "loaded", "models")

    def __init__(self, models: ModelRegistry, loaded: Running) -> None:
        self.models = models
        self.loaded = loaded
        self.is_enough = True

    def serving(self, provider: str) -> Any:
        """A serving object: the default model's, or that of the first which has it.

        Raises:
            ServingError: No model can answer with it now.
        """
        found = vars(self.loaded).get(provider)
        if found is None:
            self.is_enough = False
            found = self.models.serving(provider, None)
        return found


Read = Callable[[Hand], Any]


def readable(read: Read) -> Callable[[T], T]:
    """Say of a dependency how its object is read from the models.

    Args:
        read: Gives the object from what is at hand, or raises a
            :class:`~containers.errors.ServingError`; then the dependency itself is
            solved, and says why.
    """

    def note(dependency: T) -> T:
        setattr(dependency, READ, read)
        return dependency

    return note


def read_injected(app: FastAPI, routes: Iterable[BaseRoute]) -> None:
    """Let the routes of an app read our objects instead of solving them.

    FastAPI solves each dependency anew, at 10 µs and more; to give what was read takes
    as long as half of one, however many there are. It is for routes as FastAPI makes
    them, whose dependencies are ours alone; all others stay as they are, and so does
    every answer.
    """
    for route in routes:
        if type(route) is APIRoute and _is_fastapis(route.app):
            reads = _reads(route.dependant)
            if reads:
                route.app = _reading(app, route, Given(reads))


def _is_fastapis(app: Any) -> bool:
    name = f"{request_response.__qualname__}.<locals>."
    module = getattr(app, "__module__", "")
    is_made_there: bool = getattr(app, "__qualname__", "").startswith(name)
    return module == request_response.__module__ and is_made_there


def _reads(dependant: Dependant) -> dict[str, Read] | None:
    """How each dependency is read; ``None`` if one of them is not ours."""
    reads: dict[str, Read] = {}
    for each in dependant.dependencies:
        read = getattr(each.call, READ, None)
        if read is None or each.name is None:
            return None
        reads[each.name] = read
    return reads if dependant.is_coroutine_callable else None


class Given:
    """What a route's dependencies give: read once for each generation of objects.

    Args:
        reads: How each of them is read, by the name of its parameter.
    """

    def __init__(self, reads: dict[str, Read]) -> None:
        self._reads = reads
        self._objects: dict[str, Any] = {}
        self._of: Callable[[], Running | None] = _nothing

    def by(self, models: ModelRegistry) -> dict[str, Any]:
        """The objects by the names of their parameters, not to be changed.

        Raises:
            ServingError: One of them cannot be read now.
        """
        loaded = models.at_hand()
        if self._of() is loaded:
            return self._objects
        hand = Hand(models, loaded)
        objects = {name: read(hand) for name, read in self._reads.items()}
        if hand.is_enough:
            self._objects, self._of = objects, ref(loaded, self._forget)
        return objects

    def _forget(self, _: object = None) -> None:
        """Keep no generation's objects longer than the models do."""
        self._objects, self._of = {}, _nothing


def _nothing() -> None:
    return None


def _reading(app: FastAPI, route: APIRoute, given: Given) -> ASGIApp:
    whole, short = route.app, _without_dependencies(route)

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        found = None if app.dependency_overrides else _found(app, given)
        if found is None:
            await whole(scope, receive, send)
            return
        scope[_FOUND] = found
        await short(scope, receive, send)

    return reading


def _found(app: FastAPI, given: Given) -> dict[str, Any] | None:
    service: Service = getattr(app.state, STATE_ATTRIBUTE)
    try:
        return given.by(service.registry)
    except ServingError:
        return None


def _without_dependencies(route: APIRoute) -> ASGIApp:
    """FastAPI's own handling of the route, its dependencies given by the scope."""
    dependant, made = route.dependant, copy(route)
    made.dependant = replace(
        dependant,
        dependencies=[],
        request_param_name=dependant.request_param_name or _REQUEST,
        call=_given(dependant),
    )
    return request_response(made.get_route_handler())


def _given(dependant: Dependant) -> Callable[..., Awaitable[Any]]:
    endpoint, own = dependant.call, dependant.request_param_name
    assert endpoint is not None  # noqa: S101  # that of a route

    async def call(**values: Any) -> Any:
        request: Request = values[own] if own else values.pop(_REQUEST)
        return await endpoint(**values, **request.scope[_FOUND])

    return call
