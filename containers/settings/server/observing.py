"""What can be seen of a server from outside: metrics of requests, logs, traces."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from containers.settings.section import BARE_AS_EMPTY, NonEmpty, Section

Level = Literal["critical", "error", "warning", "info", "debug"]


class LogSettings(Section):
    """What ``vllm-di serve`` logs, and how; an app of your own logs as it likes.

    Attributes:
        format: ``json`` for an object a line, ``text``, or ``auto`` for text on a
            terminal and JSON anywhere else.
        level: How much this server itself logs.
        levels: Levels of loggers by name, such as ``vllm`` or ``app.routes``; vLLM says
            errors only unless this or ``VLLM_LOGGING_LEVEL`` asks for more.
        requests: Whether each request is logged when it has been answered, with its
            model, tokens, times and status; never with what it asks or is answered.
    """

    format: Literal["auto", "json", "text"] = "auto"
    level: Level = "info"
    levels: dict[NonEmpty, Level] = Field(default_factory=dict)
    requests: bool = True


class TraceSettings(Section):
    """Where traces go, by OTLP; it needs the extra ``otel``.

    Sampling, headers, the service's name and the like are those of OpenTelemetry's own
    variables, such as ``OTEL_SERVICE_NAME`` and ``OTEL_TRACES_SAMPLER``.

    Attributes:
        endpoint: URL of the collector, such as ``http://localhost:4317``, or with HTTP
            ``http://localhost:4318/v1/traces``; ``None`` for what
            ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_ENDPOINT``
            says.
        protocol: ``grpc`` or ``http/protobuf``; ``None`` for what
            ``OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`` or ``OTEL_EXPORTER_OTLP_PROTOCOL``
            says, or else ``grpc``, as with vLLM.
        requests: Whether each request has a span, which vLLM's own is below.
    """

    endpoint: NonEmpty | None = None
    protocol: Literal["grpc", "http/protobuf"] | None = None
    requests: bool = True


class ObservationSettings(Section):
    """Metrics of requests, logs, and traces.

    Attributes:
        request_metrics: Whether requests are counted and timed, by route, for
            ``/metrics``.
        logs: What is logged, and how.
        traces: Where traces of start, stop and requests go; ``None`` for none.
    """

    request_metrics: bool = True
    logs: Annotated[LogSettings, BARE_AS_EMPTY] = LogSettings()
    traces: TraceSettings | None = None
