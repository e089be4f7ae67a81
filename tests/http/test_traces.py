"""Traces, as a real collector receives them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dependency_injector import providers
from dependency_injector.containers import Container
from fastapi import FastAPI
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from starlette.testclient import TestClient

from app import create_app, include_serving
from app.traces import traces as module
from containers import ApplicationContainer, Settings
from containers.errors import SettingsError, StartError
from containers.lifecycle import lifecycle_of
from containers.testing import FakeEngine
from tests.engine.servers import free_port
from tests.http.collector import Collector, collecting, collecting_by_grpc
from tests.http.conftest import app_of
from tests.http.test_metrics import Serving, say

CHAT = "/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 3}
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLERS = {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01", "tracestate": "a=b"}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def tracing_engine(
    serving_engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> FakeEngine:
    """An engine that traces: 0.31.0 hands the headers on to no other."""

    async def yes() -> bool:
        return True

    monkeypatch.setattr(serving_engine, "is_tracing_enabled", yes)
    return serving_engine


def traced(collector: Collector, **more: Any) -> dict[str, Any]:
    return {"endpoint": collector.url, "protocol": "http/protobuf", **more}


def test_start_and_stop_of_each_resource_are_in_one_trace(
    serving_container: Container, collector: Collector
) -> None:
    app = app_of(serving_container, traces=traced(collector))
    with TestClient(app):
        records = lifecycle_of(serving_container).records
    root, start = collector.named("start-up"), collector.named("start tiny")
    stop = collector.named("stop tiny")
    assert {span.trace_id for span in collector.spans} == {root.trace_id}
    assert root.parent_id == ""
    assert root.service == "vllm-di"
    assert start.parent_id == stop.parent_id == root.span_id
    for name, record in records.items():
        began, ended = collector.named(f"start {name}"), collector.named(f"stop {name}")
        assert (began.parent_id, ended.parent_id) == (start.span_id, stop.span_id)
        assert record.started_at is not None
        assert record.ready_at is not None
        assert began.began_ns == int(record.started_at * 1e9)
        assert began.ended_ns == int(record.ready_at * 1e9)
        assert began.ended_ns <= ended.began_ns <= ended.ended_ns
        assert began.attributes["vllm_di.provider"] == name
        assert not began.has_failed
    assert start.attributes["vllm_di.cause"] == "start"
    assert len(collector.spans) == 3 + 2 * len(records)


def test_a_start_that_fails_tells_where_and_why(
    tiny_folder: Path, collector: Collector
) -> None:
    settings = {
        "server": {"traces": traced(collector)},
        "models": [
            {"name": "tiny", "source": str(tiny_folder), "chat": {"template": "{{"}}
        ],
    }
    app = create_app(Settings.model_validate(settings))
    with pytest.raises(StartError), TestClient(app):
        pass
    failed = {span.name for span in collector.spans if span.has_failed}
    assert failed == {"start-up", "start tiny", "start chat_template"}
    (event,) = collector.named("start chat_template").events
    assert event["name"] == "exception"
    assert "is not valid Jinja" in event["exception.message"]
    assert not collector.named("start tokenizer").has_failed
    assert collector.named("stop tokenizer").trace_id == failed_trace(collector)


def failed_trace(collector: Collector) -> str:
    return collector.named("start-up").trace_id


async def test_a_reload_is_a_trace_of_its_own(
    tiny_folder: Path, collector: Collector
) -> None:
    serving = Serving(tiny_folder, "a", traces=traced(collector))
    async with serving.client():
        await serving.service.reload(serving.settings("a", template=say("1")))
    starts = [span for span in collector.spans if span.name == "start a"]
    first, second = sorted(starts, key=lambda span: span.began_ns)
    assert first.trace_id != second.trace_id
    assert second.parent_id == ""
    assert second.attributes["vllm_di.cause"] == "reload"
    assert second.attributes["vllm_di.generation"] == 2
    below = [span.name for span in collector.spans if span.parent_id == second.span_id]
    assert "start chat_template" in below
    assert "start tokenizer" not in below, "it went on as it was"


def test_a_request_is_below_its_caller_and_vllms_span_below_it(
    serving_container: Container, tracing_engine: FakeEngine, collector: Collector
) -> None:
    app = app_of(serving_container, traces=traced(collector))
    with TestClient(app) as client:
        for stream in (False, True):
            body = QUESTION | {"stream": stream}
            assert client.post(CHAT, json=body, headers=CALLERS).status_code == 200
        client.get("/livez")
    spans = [span for span in collector.spans if span.name == f"POST {CHAT}"]
    assert len(spans) == 2
    for span, request in zip(spans, tracing_engine.requests, strict=True):
        assert (span.trace_id, span.parent_id) == (TRACE_ID, SPAN_ID)
        assert request.trace_headers is not None
        told = request.trace_headers["traceparent"]
        assert told == f"00-{TRACE_ID}-{span.span_id}-01"
        assert request.trace_headers["tracestate"] == "a=b"
        assert span.attributes["http.response.status_code"] == 200
        assert span.attributes["gen_ai.request.model"] == "tiny"
        assert span.attributes["gen_ai.usage.output_tokens"] > 0
    assert not any("livez" in span.name for span in collector.spans)


def test_without_a_caller_it_is_a_trace_of_its_own(
    serving_container: Container, tracing_engine: FakeEngine, collector: Collector
) -> None:
    app = app_of(serving_container, traces=traced(collector))
    with TestClient(app) as client:
        client.post(CHAT, json=QUESTION)
        client.post(CHAT, json=QUESTION, headers={"traceparent": "nonsense"})
    spans = [span for span in collector.spans if span.name == f"POST {CHAT}"]
    assert [span.parent_id for span in spans] == ["", ""]
    assert len({span.trace_id for span in collector.spans}) == 3
    (request, _) = tracing_engine.requests
    assert request.trace_headers is not None
    assert spans[0].span_id in request.trace_headers["traceparent"]


def test_without_spans_of_requests_the_callers_context_goes_to_vllm(
    serving_container: Container, tracing_engine: FakeEngine, collector: Collector
) -> None:
    app = app_of(serving_container, traces=traced(collector, requests=False))
    with TestClient(app) as client:
        client.post(CHAT, json=QUESTION, headers=CALLERS)
    assert collector.named("start-up")
    assert not any(span.name.startswith("POST") for span in collector.spans)
    (request,) = tracing_engine.requests
    assert request.trace_headers == CALLERS


def test_in_a_hosts_app_a_request_is_below_the_hosts_own_span(
    serving_container: Container, collector: Collector
) -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("host")
    app = FastAPI()
    model = serving_container.settings()
    settings = Settings.model_validate(
        {"server": {"traces": traced(collector)}, "models": [model.model_dump()]}
    )
    models = providers.Object({model.name: serving_container})
    include_serving(app, ApplicationContainer(settings=settings, models=models))

    async def instrumented(scope: Any, receive: Any, send: Any) -> None:
        with tracer.start_as_current_span("the host's"):
            await app(scope, receive, send)

    with TestClient(instrumented) as client:
        client.post(CHAT, json=QUESTION, headers=CALLERS)
    span = collector.named(f"POST {CHAT}")
    assert span.trace_id != TRACE_ID
    assert span.parent_id
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def test_over_grpc_they_come_in_too(serving_container: Container) -> None:
    with collecting_by_grpc() as collector:
        app = app_of(serving_container, traces={"endpoint": collector.url})
        with TestClient(app):
            pass
    assert collector.named("start tokenizer").trace_id


def test_a_collector_that_is_not_there_holds_nothing_up(
    serving_container: Container,
) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}/v1/traces"
    traces = {"endpoint": endpoint, "protocol": "http/protobuf"}
    app = app_of(serving_container, traces=traces)
    with TestClient(app) as client:
        assert client.post(CHAT, json=QUESTION).status_code == 200
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 8


def test_without_opentelemetry_it_is_refused_with_what_to_install(
    serving_container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"server.traces: .*vllm-di\[otel\]"):
        app_of(serving_container, traces={})


NOTHING_IMPORTED = """
import sys
from starlette.testclient import TestClient
from app import create_app
from containers.testing import fake_container
with TestClient(create_app(fake_container())) as client:
    assert client.get("/livez").status_code == 200
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_off_nothing_of_it_is_imported() -> None:
    command = [sys.executable, "-c", NOTHING_IMPORTED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("value", [{"protocol": "smoke"}, {"endpoint": ""}, {"x": 1}])
def test_what_means_nothing_is_refused(
    serving_container: Container, value: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match=r"server\.traces"):
        app_of(serving_container, traces=value)
