"""Metrics of several processes of one server."""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.parser import text_string_to_metric_families

from app.metrics.together import Measured, counted, together


def measured(n: int, *, running: int = 0, route: str = "/a") -> bytes:
    registry = CollectorRegistry()
    Counter("vllm:prompt_tokens", "n", ["engine"], registry=registry).labels("0").inc(n)
    Histogram("s", "s", registry=registry, buckets=(1, 5)).observe(n)
    Gauge("vllm:num_requests_running", "r", registry=registry).set(running)
    Gauge("vllm_di_model_ready", "r", registry=registry).set(n)
    Counter("vllm_di_reloads", "r", registry=registry).inc(n)
    in_flight = Gauge("vllm_di_requests_in_flight", "r", ["route"], registry=registry)
    in_flight.labels(route).set(n)
    return generate_latest(registry)


def values(text: bytes) -> dict[str, float]:
    return {
        f"{sample.name}{sorted(sample.labels.values())}": sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_what_is_counted_adds_up_and_what_stands_is_the_owners() -> None:
    text = together(
        Measured(measured(1)), [Measured(measured(2)), Measured(measured(3))]
    )
    found = values(text)
    assert found["vllm:prompt_tokens_total['0']"] == 6
    assert (found["s_sum[]"], found["s_count[]"]) == (6, 3)
    assert found["s_bucket['1.0']"] == 1
    assert found["s_bucket['+Inf']"] == 3
    assert found["vllm_di_model_ready[]"] == 1
    assert found["vllm_di_reloads_total[]"] == 1


def test_what_only_another_process_has_counted_is_there() -> None:
    text = together(Measured(measured(1)), [Measured(measured(2, route="/b"))])
    found = values(text)
    assert found["vllm_di_requests_in_flight['/a']"] == 1
    assert found["vllm_di_requests_in_flight['/b']"] == 2


def test_of_the_engine_tells_who_heard_of_it_last() -> None:
    own, other = measured(1, running=1), measured(1, running=2)
    at = {
        (own_at, other_at): values(
            together(Measured(own, own_at), [Measured(other, other_at)])
        )["vllm:num_requests_running[]"]
        for own_at, other_at in ((1.0, 2.0), (2.0, 1.0), (0.0, 0.0))
    }
    assert at == {(1.0, 2.0): 2, (2.0, 1.0): 1, (0.0, 0.0): 1}


def test_what_the_dead_have_counted_stays_counted() -> None:
    gone = counted([measured(2, running=5), measured(4)])
    found = values(together(Measured(measured(1)), [], gone))
    assert found["vllm:prompt_tokens_total['0']"] == 7
    assert found["vllm_di_requests_in_flight['/a']"] == 1
    assert found["vllm:num_requests_running[]"] == 0


def test_labels_with_spaces_and_great_numbers_survive() -> None:
    line = b'# HELP x_total x\n# TYPE x_total counter\nx_total{a="b c"} 1.5e+18\n'
    assert values(together(Measured(line), [Measured(line)])) == {
        "x_total['b c']": 3e18
    }


def test_sessions_of_every_front_end_are_added_up() -> None:
    text = (
        b"# HELP vllm_di_sessions_total t\n# TYPE vllm_di_sessions_total counter\n"
        b'vllm_di_sessions_total{code="1000"} 2.0\n'
        b"# HELP vllm_di_sessions_open t\n# TYPE vllm_di_sessions_open gauge\n"
        b"vllm_di_sessions_open 1.0\n"
    )
    lines = together(Measured(text), [Measured(text), Measured(text)]).decode()
    assert 'vllm_di_sessions_total{code="1000"} 6.0' in lines
    assert "vllm_di_sessions_open 3.0" in lines


def test_a_label_with_another_end_of_a_line_is_one_line() -> None:
    line = (
        '# HELP x_total x\n# TYPE x_total counter\nx_total{a="b\u2028\x0bc\x85"} 1.0\n'
    )
    text = together(Measured(line.encode()), [Measured(line.encode())])
    assert text.decode() == line.replace("1.0", "2.0")
