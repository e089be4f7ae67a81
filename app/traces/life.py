"""Spans of what starts and stops, made of the lifecycle's records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import format_exception
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, Tracer

from containers.lifecycle import Record, State, lifecycle_of
from containers.masks import masked
from containers.registry.generation import Generation

NS_PER_S = 1_000_000_000


class LifeSpans:
    """One trace for a start-up, and one for each later change of a model.

    Args:
        tracer: Makes the spans.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @contextmanager
    def start_up(self) -> Iterator[Callable[[], None]]:
        """A span above all that starts and stops in the block and in tasks begun in it.

        Yields:
            What ends the span, before the block ends.
        """
        span = self._tracer.start_span("start-up", context=Context())
        with _current(span):
            yield span.end

    @contextmanager
    def watch(self, what: str, generation: Generation) -> Iterator[None]:
        """A span for the start or stop of a generation, and one a resource in it."""
        lifecycle = lifecycle_of(generation.container)
        model = generation.container.settings().name
        about = {
            "vllm_di.model": model,
            "vllm_di.generation": generation.number,
            "vllm_di.cause": generation.cause,
        }
        span = self._tracer.start_span(
            f"{what} {model}", context=_above(generation), attributes=about
        )
        with _current(span):
            resources = _ResourceSpans(self._tracer, span, model)
            end = lifecycle.listen(resources.take)
            try:
                yield
            finally:
                end()


class _ResourceSpans:
    """Makes spans of records as they come, below one span."""

    def __init__(self, tracer: Tracer, above: Span, model: str) -> None:
        self._tracer = tracer
        self._context = trace.set_span_in_context(above, Context())
        self._model = model
        self._stopping: dict[str, int] = {}

    def take(self, record: Record) -> None:
        """Make the span that ends with a record, if one does."""
        now_ns = time.time_ns()
        if record.state is State.STOPPING:
            self._stopping[record.name] = now_ns
        elif record.name in self._stopping:
            self._make("stop", record, self._stopping.pop(record.name), now_ns)
        elif record.state in (State.READY, State.FAILED, State.STOPPED):
            began_ns = _ns(record.started_at, now_ns)
            self._make("start", record, began_ns, _ns(record.ready_at, now_ns))

    def _make(self, what: str, record: Record, began_ns: int, ended_ns: int) -> None:
        about: dict[str, Any] = {
            "vllm_di.model": self._model,
            "vllm_di.provider": record.name,
            "vllm_di.state": str(record.state),
        }
        span = self._tracer.start_span(
            f"{what} {record.name}",
            context=self._context,
            attributes=about,
            start_time=began_ns,
        )
        if record.error is not None:
            _fail(span, record.error)
        span.end(end_time=ended_ns)


def _above(generation: Generation) -> Context | None:
    """What a generation's span is below: the start-up, what goes on, or nothing."""
    if generation.cause == "start" or trace.get_current_span().is_recording():
        return None
    return Context()


@contextmanager
def _current(span: Span) -> Iterator[None]:
    """Have a span above all of a block, and end it with it unless that is done."""
    with trace.use_span(span, record_exception=False, set_status_on_exception=False):
        try:
            yield
        except BaseException as error:
            if span.is_recording():
                _fail(span, error)
            raise
        finally:
            if span.is_recording():
                span.end()


def _fail(span: Span, error: BaseException) -> None:
    """Tell what failed; the SDK's own words for it would have secrets in them."""
    text = masked(error)
    told = {
        "exception.message": text,
        "exception.stacktrace": masked("".join(format_exception(error))),
    }
    span.record_exception(error, told)
    span.set_status(Status(StatusCode.ERROR, text))


def _ns(time_s: float | None, otherwise_ns: int) -> int:
    return otherwise_ns if time_s is None else int(time_s * NS_PER_S)
