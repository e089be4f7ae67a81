"""Sending spans to a collector, by OTLP."""

from __future__ import annotations

import os
import threading

from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_PROTOCOL,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL,
    OTEL_SERVICE_NAME,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Tracer

from containers.settings.server.observing import TraceSettings
from containers.version import __version__

NAME = "vllm-di"
CLOSE_TIMEOUT_S = 3.0
"""Seconds the last spans have to be sent when all else has stopped."""


class Exporting:
    """A tracer of our own, beside whatever the process has, and where its spans go.

    Sampling, headers, time-outs and attributes of the resource are those of the SDK's
    variables (``OTEL_...``).

    Args:
        settings: Where to send.

    Attributes:
        tracer: Makes spans.
    """

    def __init__(self, settings: TraceSettings) -> None:
        own = {} if os.environ.get(OTEL_SERVICE_NAME) else {SERVICE_NAME: NAME}
        self._provider = TracerProvider(
            resource=Resource.create(own), shutdown_on_exit=False
        )
        self._exporter = _exporter(settings)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self.tracer: Tracer = self._provider.get_tracer(NAME, __version__)

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        closing = threading.Thread(
            target=self._provider.shutdown, name="closing traces", daemon=True
        )
        closing.start()
        closing.join(CLOSE_TIMEOUT_S)
        if closing.is_alive():
            self._exporter.shutdown()  # it gives up what it is about to try again


def _exporter(settings: TraceSettings) -> SpanExporter:
    if protocol_of(settings) == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
            OTLPSpanExporter as GrpcExporter,
        )

        return GrpcExporter(endpoint=settings.endpoint)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
        OTLPSpanExporter as HttpExporter,
    )

    return HttpExporter(endpoint=settings.endpoint)


def protocol_of(settings: TraceSettings) -> str:
    """How to speak to the collector; by default as vLLM does."""
    names = (OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL)
    of_variables = (os.environ[name] for name in names if os.environ.get(name))
    return settings.protocol or next(of_variables, "grpc")
