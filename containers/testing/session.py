"""What the tests of one pytest session share: the loop of their apps, real engines."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dependency_injector.containers import Container
from starlette.types import ASGIApp

from containers.errors import GraphError, SourceError
from containers.lifecycle import lifecycle_of
from containers.model import ModelContainer
from containers.settings import ModelSettings
from containers.testing.cassettes import Mode, RecordingEngine, ReplayEngine
from containers.testing.cassettes.secrets import Secret
from containers.testing.http import AppTransport, OwnLoop
from containers.testing.leaks import tasks_left
from containers.testing.overrides import claim_doubles, overrides_of
from containers.testing.shared_builds import SharedBuilds, build_without_threads
from containers.testing.tiny_model import tiny_model

TINY = "tiny"
"""Name of the model that is served unless a test says otherwise."""


class SharedSession:
    """Made at the first test that needs it, closed after the last."""

    def __init__(self) -> None:
        self.loop = OwnLoop()
        self._engines: dict[str, Container] = {}
        self._builds = SharedBuilds()
        self._recorded: set[Path] = set()
        self._is_frozen = False

    def container(self, settings: ModelSettings) -> Container:
        """A container that shares config and template with others of these settings.

        No engine may start from it: that would write into the config.
        """
        container = ModelContainer(settings=settings)
        self._builds.share(container)
        return container

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

    def cassette(
        self,
        settings: Callable[[], ModelSettings],
        path: Path,
        *,
        mode: Mode,
        delays: bool = False,
        secrets: Iterable[Secret] = (),
    ) -> Any:
        """An engine that records, or replays where nothing is to be recorded.

        A cassette that several tests share is replaced, or made, once: the others add
        what they ask beside.

        Args:
            settings: Gives the settings of the real engine, if one is needed.
            path: The cassette.
            mode: What is recorded.
            delays: Whether a replay waits as long as it took.
            secrets: Texts or patterns to keep out of it.
        """
        is_known = path in self._recorded
        if mode == "none" or (mode == "once" and path.exists() and not is_known):
            return ReplayEngine(path, delays=delays, secrets=secrets)
        engine = self.real_engine(settings())
        self._recorded.add(path)
        return RecordingEngine(
            engine, path, mode="new" if is_known else mode, secrets=secrets
        )

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
            build_without_threads(container)
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
