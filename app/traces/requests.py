"""A span for each request, which vLLM's own span for it is below."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Scope

from containers.request_record import RequestRecord

CONTEXT_HEADERS = (b"traceparent", b"tracestate")


class RequestSpans:
    """Begins and ends the spans of requests.

    Args:
        tracer: Makes the spans.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, record: RequestRecord, scope: Scope) -> Span:
        """The span of a request that has come, below the one its client names.

        The request's own headers then name it, so that vLLM's spans are below it.
        """
        span = self._tracer.start_span(
            record.method, context=self._above(scope), kind=SpanKind.SERVER
        )
        told: dict[str, str] = {}
        self._propagator.inject(told, trace.set_span_in_context(span, Context()))
        scope["headers"] = [
            *(each for each in scope["headers"] if each[0] not in CONTEXT_HEADERS),
            *((key.encode(), value.encode()) for key, value in told.items()),
        ]
        return span

    def end(self, span: Span, record: RequestRecord) -> None:
        """End the span of a request that has been answered."""
        if span.is_recording():
            span.update_name(f"{record.method} {record.route}".strip())
            span.set_attributes(_attributes(record))
            if record.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.set_status(Status(StatusCode.ERROR))
        span.end()

    def _above(self, scope: Scope) -> Context | None:
        """A span of the host's own, or the one that the client names."""
        if trace.get_current_span().get_span_context().is_valid:
            return None
        named = {
            name.decode(): value.decode("latin-1")
            for name, value in scope["headers"]
            if name in CONTEXT_HEADERS
        }
        return self._propagator.extract(named, Context())


def _attributes(record: RequestRecord) -> dict[str, Any]:
    """What is known of it, by OpenTelemetry's names."""
    found = {
        "http.request.method": record.method,
        "http.route": record.route or None,
        "url.path": None if record.route else record.path,
        "http.response.status_code": record.status,
        "gen_ai.request.model": record.model or None,
        "gen_ai.usage.input_tokens": record.n_prompt_tokens,
        "gen_ai.usage.output_tokens": record.n_completion_tokens,
        "gen_ai.response.finish_reasons": [record.finish] if record.finish else None,
        "vllm_di.request_id": record.request_id,
        "vllm_di.close_code": record.close_code,
    }
    return {key: value for key, value in found.items() if value is not None}
