"""A collector of traces: OTLP over HTTP on loopback, as protobuf."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PATIENCE_S = 10.0


@dataclass(frozen=True)
class Collected:
    """One span that has come in."""

    name: str
    service: str
    trace_id: str
    span_id: str
    parent_id: str
    began_ns: int
    ended_ns: int
    has_failed: bool
    attributes: dict[str, Any]
    status: str
    events: tuple[dict[str, Any], ...]


class Collector:
    """What has come in so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Collected] = []

    def named(self, name: str) -> Collected:
        """The one span of a name, as soon as it has come in."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = [span for span in self.spans if span.name == name]
            if found:
                assert len(found) == 1, found
                return found[0]
            time.sleep(0.02)
        raise AssertionError(f"no {name!r} among {[each.name for each in self.spans]}")


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            length = int(self.headers["Content-Length"])
            request = ExportTraceServiceRequest.FromString(self.rfile.read(length))
            collector.spans += spans_of(request)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            body = ExportTraceServiceResponse().SerializeToString()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}/v1/traces")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def collecting_by_grpc() -> Iterator[Collector]:
    """The same over gRPC."""
    import grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service

    class Servicer(service.TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802  # the library's name
            collector.spans += spans_of(request)
            return ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    service.add_TraceServiceServicer_to_server(Servicer(), server)
    collector = Collector(f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()


def spans_of(request: Any) -> Iterator[Collected]:
    for of_resource in request.resource_spans:
        service = attributes_of(of_resource.resource)["service.name"]
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Collected(
                    name=span.name,
                    service=service,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    began_ns=span.start_time_unix_nano,
                    ended_ns=span.end_time_unix_nano,
                    has_failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    attributes=attributes_of(span),
                    status=span.status.message,
                    events=tuple(
                        {"name": each.name, **attributes_of(each)}
                        for each in span.events
                    ),
                )


def attributes_of(holder: Any) -> dict[str, Any]:
    found = {}
    for each in holder.attributes:
        kind = each.value.WhichOneof("value")
        found[each.key] = getattr(each.value, kind) if kind else None
    return found
