"""What containers of the same settings need not build again for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

from dependency_injector.containers import Container
from pydantic import BaseModel

from containers import resources, vllm_api
from containers.lifecycle import Resource
from containers.lifecycle.resource import BuilderKind


class SharedBuilds:
    """Config and template, which are most of a start when the engine is a double."""

    def __init__(self) -> None:
        self._built: dict[tuple[Any, ...], Any] = {}

    def share(self, container: Container) -> None:
        """Let a container take what another one of the same settings has built."""
        self._share(container.vllm_config, finish=_probe_templates_once)
        self._share(container.chat_template)

    def _share(self, resource: Any, finish: Callable[[], None] = lambda: None) -> None:
        """Let a resource be built once for the same arguments."""
        build = resource.provides

        @wraps(build)
        def built(**injected: Any) -> Any:
            key = (build, *(_identity(value) for value in injected.values()))
            if key not in self._built:
                value = build(**injected)
                finish()
                # With its arguments: an id is unique only as long as they live.
                self._built[key] = value, injected
            return self._built[key][0]

        resource.set_provides(built)


def _identity(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return value if isinstance(value, str) else id(value)


def build_without_threads(container: Container) -> None:
    """Call blocking builders of ours on the loop: a thread costs more than they do.

    To be called right before a start: by then a test has replaced what it wants to.
    """
    for resource in container.providers.values():
        if isinstance(resource, Resource) and _is_ours(resource.provides):
            build: Any = resource.provides
            kind = BuilderKind.of(build)
            if kind is BuilderKind.FUNCTION:
                resource.set_provides(_as_coroutine(build))
            elif kind is BuilderKind.GENERATOR:
                resource.set_provides(_as_async_generator(build))


def _is_ours(build: Any) -> bool:
    name = getattr(build, "__name__", None)
    return name is not None and getattr(resources, name, None) is build


def _as_coroutine(build: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(build)
    async def built(**injected: Any) -> Any:
        return build(**injected)

    return built


def _as_async_generator(build: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(build)
    async def built(**injected: Any) -> AsyncIterator[Any]:
        with contextmanager(build)(**injected) as value:
            yield value

    return built


@cache
def _probe_templates_once() -> None:
    """Let vLLM find out once what a template takes: it compiles one to find out."""
    name = "_detect_merge_inline_system"
    kinds = vllm_api.AnthropicServingMessages.__mro__
    # Where it is defined: vLLM's render object asks that class, not the door's.
    definer = next(kind for kind in kinds if name in vars(kind))
    setattr(definer, name, staticmethod(cache(getattr(definer, name))))
