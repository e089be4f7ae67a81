"""What the tests of one pytest session share: the loop of their apps, real engines."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

from dependency_injector.containers import Container
from pydantic import BaseModel
from starlette.types import ASGIApp

from containers import resources
from containers.errors import GraphError, SourceError
from containers.lifecycle import Resource, lifecycle_of
from containers.lifecycle.resource import BuilderKind
from containers.model import ModelContainer
from containers.settings import ModelSettings
from containers.testing.http import AppTransport, OwnLoop
from containers.testing.leaks import tasks_left
from containers.testing.overrides import claim_doubles, overrides_of
from containers.testing.tiny_model import tiny_model

TINY = "tiny"
"""Name of the model that is served unless a test says otherwise."""


class SharedSession:
    """Made at the first test that needs it, closed after the last."""

    def __init__(self) -> None:
        self.loop = OwnLoop()
        self._engines: dict[str, Container] = {}
        self._built: dict[tuple[Any, ...], Any] = {}
        self._is_frozen = False

    def container(self, settings: ModelSettings) -> Container:
        """A container that shares config and template with others of these settings.

        No engine may start from it: that would write into the config. Making these
        two is most of what a start costs when the engine is a double.
        """
        container = ModelContainer(settings=settings)
        self._share(container.vllm_config, finish=_remember)
        self._share(container.chat_template)
        for provider in container.providers.values():
            if isinstance(provider, Resource):
                _build_without_thread(provider)
        return container

    def _share(
        self, resource: Any, finish: Callable[[Any], None] = lambda _: None
    ) -> None:
        """Let a resource be built once for the same arguments."""
        build = resource.provides

        @wraps(build)
        def built(**injected: Any) -> Any:
            key = (build, *(_identity(value) for value in injected.values()))
            if key not in self._built:
                value = build(**injected)
                finish(value)
                # With its arguments: an id is unique only as long as they live.
                self._built[key] = value, injected
            return self._built[key][0]

        resource.set_provides(built)

    def real_engine(self, settings: ModelSettings) -> Any:
        """A real engine of these settings, started once for the whole session.

        Raises:
            SourceError: The model has no weights.
            StartError: The engine did not start.
        """
        key = settings.model_dump_json()
        if key not in self._engines:
            _require_weights(settings.source)
            container = ModelContainer(settings=settings)
            self.loop.run(lifecycle_of(container).start("engine"))
            self._engines[key] = container
        return self._engines[key].engine()

    @contextmanager
    def serving(
        self, app: ASGIApp, container: Container | None
    ) -> Iterator[tuple[AppTransport, list[str]]]:
        """An app to send requests to, stopped at the end of the block.

        Args:
            app: Any ASGI app; it starts at the first request.
            container: Its container, whose overrides are checked.

        Yields:
            Its transport, and a list of what it has left behind, filled at the end.
        """
        left: list[str] = []
        check = _overrides_check(container) if container else lambda _: None
        before = self.loop.tasks()
        transport = AppTransport(app, self.loop, before_request=check)
        try:
            yield transport, left
        finally:
            transport.stop()
            left += self.loop.run(tasks_left(before))
            self._freeze()

    def _freeze(self) -> None:
        """Let no later collection look through vLLM again: that takes half a second."""
        if not self._is_frozen:
            self._is_frozen = True
            gc.freeze()

    def close(self) -> None:
        """Stop the real engines and the loop."""
        if self._is_frozen:
            gc.unfreeze()
        while self._engines:
            _, container = self._engines.popitem()
            self.loop.run(lifecycle_of(container).stop())
            del container
            _collect_engine()
        self.loop.close()


def tiny_settings(folder: Path) -> ModelSettings:
    """Settings of a tiny model, which is written to a folder."""
    return ModelSettings.model_validate(
        {
            "name": TINY,
            "source": str(tiny_model(folder)),
            "engine": {"enforce_eager": True},
        }
    )


def _require_weights(source: str) -> None:
    folder = Path(source)
    kinds = (".safetensors", ".bin", ".pt", ".gguf")
    if folder.is_dir() and not any(file.suffix in kinds for file in folder.iterdir()):
        raise SourceError(
            source=source,
            reason="it has no weights, and recording asks a real engine",
            hint="Define a fixture serving_settings of session scope.",
        )


def _identity(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return value if isinstance(value, str) else id(value)


def _build_without_thread(resource: Resource[Any]) -> None:
    """Call a plain function of ours on the loop: a thread costs more than it does."""
    build: Any = resource.provides
    is_plain = BuilderKind.of(build) is BuilderKind.FUNCTION
    if is_plain and build.__module__.startswith(resources.__name__):

        @wraps(build)
        async def built(**injected: Any) -> Any:
            return build(**injected)

        resource.set_provides(built)


def _remember(config: Any) -> None:
    """Let a ``VllmConfig`` find out once what every serving object asks it anew."""
    config.compute_hash = cache(config.compute_hash)
    for name in ("try_get_generation_config", "get_diff_sampling_param"):
        found = getattr(config.model_config, name)()
        setattr(config.model_config, name, partial(copy, found))


def _collect_engine() -> None:
    """Collect what vLLM leaves to the collector: a ZeroMQ context, which warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def _overrides_check(container: Container) -> Callable[[bool], None]:
    """A check before every request: what was overridden at the start must stay so."""
    at_the_start: dict[str, Any] = {}

    def check(is_first: bool) -> None:  # noqa: FBT001  # one flag, passed by position
        now = overrides_of(container)
        if is_first:
            claim_doubles(container)
            at_the_start.update(now)
        names = [n for n in {*now, *at_the_start} if now.get(n) != at_the_start.get(n)]
        if names:
            raise GraphError(
                providers=sorted(names),
                reason="overridden, or back to what it was, after the app had started",
                hint=(
                    "The app started at its first request and keeps what it then got: "
                    "send all of a test's requests under the same overrides."
                ),
            )

    return check
