"""What the tests of one pytest session share: the loop of their apps, real engines."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from dependency_injector.containers import Container
from starlette.types import ASGIApp

from containers.errors import GraphError
from containers.lifecycle import lifecycle_of
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
        self._configs: dict[tuple[str, str], Any] = {}

    def container(self, settings: ModelSettings) -> Container:
        """A container that shares its ``VllmConfig`` with others of these settings.

        No engine may start from it: that would write into the config. Making and
        hashing one is most of what a start costs when the engine is a double.
        """
        container = ModelContainer(settings=settings)
        build: Any = container.vllm_config.provides

        def vllm_config(*, settings: ModelSettings, model: str) -> Any:
            key = (settings.model_dump_json(), model)
            if key not in self._configs:
                config = build(settings=settings, model=model)
                config.compute_hash = cache(config.compute_hash)
                self._configs[key] = config
            return self._configs[key]

        container.vllm_config.set_provides(vllm_config)
        return container

    def real_engine(self, settings: ModelSettings) -> Any:
        """A real engine of these settings, started once for the whole session."""
        key = settings.model_dump_json()
        if key not in self._engines:
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

    def close(self) -> None:
        """Stop the real engines and the loop."""
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
