"""Whether, and while, an app is traced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from containers.errors import SettingsError
from containers.registry import ServedModel
from containers.request_record import RequestRecord
from containers.settings import ServerSettings
from containers.settings.server.observing import TraceSettings

if TYPE_CHECKING:
    from app.traces.life import LifeSpans
    from app.traces.requests import RequestSpans

NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


class Traces:
    """The spans of an app: of its life, and of its requests.

    Args:
        settings: Where they go.

    Attributes:
        requests: Makes those of requests; ``None`` while none are wanted.

    Raises:
        SettingsError: OpenTelemetry is not installed.
    """

    def __init__(self, settings: TraceSettings) -> None:
        _require_installed()
        self._settings = settings
        self.requests: RequestSpans | None = None

    def end(self, record: RequestRecord) -> None:
        """End the span of a request."""
        if self.requests is not None:
            self.requests.end(record.span, record)

    @asynccontextmanager
    async def exported(self) -> AsyncIterator[LifeSpans]:
        """Make spans during the block, and send what is left at its end.

        The end waits a few seconds at most for a collector that does not answer.
        """
        from app.traces.exporting import Exporting
        from app.traces.life import LifeSpans
        from app.traces.requests import RequestSpans

        exporting = Exporting(self._settings)
        if self._settings.requests:
            self.requests = RequestSpans(exporting.tracer)
        try:
            yield LifeSpans(exporting.tracer)
        finally:
            self.requests = None
            await asyncio.to_thread(exporting.close)


def traces_of(server: ServerSettings) -> Traces | None:
    """The traces that server settings ask for, if they do.

    Raises:
        SettingsError: OpenTelemetry is not installed.
    """
    return None if server.traces is None else Traces(server.traces)


@asynccontextmanager
async def traced(
    traces: Traces | None, models: Iterable[ServedModel]
) -> AsyncIterator[Callable[[], None]]:
    """Trace the life of models during the block.

    Args:
        traces: What makes the spans, or ``None`` for none.
        models: The models.

    Yields:
        What is to be called when the start-up is over.
    """
    if traces is None:
        yield lambda: None
        return
    async with traces.exported() as life:
        for model in models:
            model.tally.watch = life.watch
        with life.start_up() as end:
            yield end


def _require_installed() -> None:
    try:
        is_there = all(find_spec(name) is not None for name in NEEDED)
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise SettingsError(
            key="server.traces",
            reason="needs OpenTelemetry's SDK and OTLP exporters",
            hint="pip install 'vllm-di[otel]', or leave it out.",
        )
