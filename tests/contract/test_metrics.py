"""The metrics of several engines in one process, and what vLLM does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from vllm.v1.metrics.loggers import PrometheusStatLogger

from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.figures import WANTED, engine_figures
from containers.vllm_api.metrics import EngineMetrics, keep_metrics, take_metrics

Start = Callable[[str], EngineMetrics]
RUNNING = "vllm:num_requests_running"


@pytest.fixture
def start(tiny_folder: Path) -> Iterator[Start]:
    """Does what a starting engine does to the metrics of its process."""
    made: list[EngineMetrics] = []

    def begin(name: str) -> EngineMetrics:
        arguments = {"enforce_eager": True, "max_model_len": 8 * 2 ** len(made)}
        config = create_vllm_config(
            model=str(tiny_folder), served_model_name=[name], arguments=arguments
        )
        keep_metrics()
        PrometheusStatLogger(config).log_engine_initialized()
        made.append(take_metrics(name))
        return made[-1]

    yield begin
    for each in made:
        each.discard()


def models(family: str) -> list[str]:
    """Models whose samples a family shows; no sample is there twice."""
    text = generate_latest(REGISTRY).decode()
    found = [f for f in text_string_to_metric_families(text) if f.name == family]
    assert len(found) <= 1
    samples = [(s.name, sorted(s.labels.items())) for f in found for s in f.samples]
    assert len(samples) == len({str(each) for each in samples})
    names = [s.labels["model_name"] for f in found for s in f.samples]
    return list(dict.fromkeys(names))


def test_a_second_engine_leaves_those_of_the_first(start: Start) -> None:
    start("paris")
    start("rome")
    assert models(RUNNING) == ["paris", "rome"]
    assert models("vllm:e2e_request_latency_seconds") == ["paris", "rome"]


def test_the_figures_of_an_engine_are_families_that_vllm_has(start: Start) -> None:
    metrics = start("paris")
    by_name = {each._name: each for each in metrics.collectors}
    assert by_name.keys() >= WANTED
    for n, name in enumerate(sorted(WANTED), start=1):
        (family,) = by_name[name].collect()
        series = by_name[name].labels(**family.samples[0].labels)
        getattr(series, "set", series.inc)(n)
    found = engine_figures()["paris"]
    assert (found.n_generation_tokens, found.kv_cache_usage) == (1, 2)
    assert (found.n_running, found.n_waiting, found.n_prompt_tokens) == (3, 4, 5)


def test_a_family_without_the_models_name_gets_it(start: Start) -> None:
    start("paris")
    start("rome")
    assert models("vllm:cache_config_info") == ["paris", "rome"]


def test_each_keeps_the_buckets_of_its_own_lengths(start: Start) -> None:
    start("paris")
    start("rome")
    text = generate_latest(REGISTRY).decode()
    (family,) = (
        family
        for family in text_string_to_metric_families(text)
        if family.name == "vllm:request_prompt_tokens"
    )
    bounds: dict[str, set[str]] = {"paris": set(), "rome": set()}
    for sample in family.samples:
        if "le" in sample.labels:
            bounds[sample.labels["model_name"]].add(sample.labels["le"])
    assert bounds["paris"] < bounds["rome"]


def test_an_engine_that_stops_takes_its_own_along(start: Start) -> None:
    paris = start("paris")
    start("rome")
    paris.discard()
    paris.discard()
    assert models(RUNNING) == ["rome"]
    start("paris")
    assert models(RUNNING) == ["rome", "paris"]


def test_what_is_of_no_engine_stays(start: Start) -> None:
    counter: Any = Counter("vllm:finds", "Finds of a parser.", ["model_name"])
    counter.labels("paris").inc()
    start("paris")
    start("rome")
    counter.labels("paris").inc()
    assert models("vllm:finds") == ["paris"]
    text = generate_latest(REGISTRY).decode()
    assert 'vllm:finds_total{model_name="paris"} 2.0' in text
