"""vLLM's own spans of a request, below ours, from a real engine."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.engine.servers import CHAT, serve
from tests.http.collector import collecting
from tests.http.test_traces import CALLERS, SPAN_ID, TRACE_ID

pytestmark = [pytest.mark.engine, pytest.mark.soak]

PATH = "/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}


def test_vllms_span_of_a_request_is_below_ours_and_that_below_the_callers(
    tmp_path: Path, model_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")
    with collecting() as collector:
        engine = CHAT["engine"] | {"otlp_traces_endpoint": collector.url}
        sections = {
            "server": {"traces": {"endpoint": collector.url}},
            "models": [CHAT | {"engine": engine}],
        }
        server = serve(tmp_path, **sections)
        try:
            url = server.wait_until_ready()
            answer = httpx.post(f"{url}{PATH}", json=QUESTION, headers=CALLERS)
            assert answer.status_code == 200
            assert server.stop() == 0, server.log
        finally:
            server.kill()
            left = server.left_behind()
        assert left == []
        ours, vllms = collector.named(f"POST {PATH}"), collector.named("llm_request")
        assert (ours.trace_id, ours.parent_id) == (TRACE_ID, SPAN_ID)
        assert (vllms.trace_id, vllms.parent_id) == (TRACE_ID, ours.span_id)
        assert ours.began_ns <= vllms.began_ns <= vllms.ended_ns <= ours.ended_ns
        tokens = vllms.attributes["gen_ai.usage.completion_tokens"]
        assert tokens == ours.attributes["gen_ai.usage.output_tokens"]
        name = CHAT["name"]
        loading = collector.named(f"start {name}")
        assert collector.named("start engine").parent_id == loading.span_id
        assert collector.named("stop engine").trace_id == loading.trace_id
