"""The dashboard asks for metrics that exist, ours and vLLM's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from vllm.v1.metrics.loggers import PrometheusStatLogger

from app.metrics import FAMILIES
from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.metrics import keep_metrics, take_metrics

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "vllm-di.json"
SUFFIXES = {"histogram": ("_bucket", "_count", "_sum"), "summary": ("_count", "_sum")}
OF_PROMETHEUS = {"up"}
AROUND = re.compile(
    r"""\{[^}]*\}            # matchers
    |"[^"]*"                  # texts
    |\[[^\]]*\]              # ranges
    |\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)
    |\b\w+(?=\s*\()          # functions
    |\b(?:sum|topk|and|or|unless|bool|offset)\b
    |\$\w+|(?<![\w:])[\d.]+\w*""",
    re.VERBOSE,
)


def expressions(panel: Any) -> Iterator[str]:
    """Every query below a part of the dashboard."""
    if isinstance(panel, dict):
        yield from (panel[key] for key in ("expr", "query") if _is_query(panel, key))
        for each in panel.values():
            yield from expressions(each)
    elif isinstance(panel, list):
        for each in panel:
            yield from expressions(each)


def _is_query(panel: dict[str, Any], key: str) -> bool:
    return isinstance(panel.get(key), str) and panel.get("type") != "datasource"


def names_in(expression: str) -> set[str]:
    if found := re.match(r"label_values\((?:(.+), *)?\w+\)$", expression):
        return names_in(found[1] or "")
    return set(re.findall(r"[a-zA-Z_:][\w:]*", AROUND.sub(" ", expression)))


@pytest.fixture(scope="module")
def of_vllm(tiny_folder: Path) -> set[str]:
    """Names of the samples that vLLM shows for an engine."""
    arguments = {"enforce_eager": True}
    config = create_vllm_config(
        model=str(tiny_folder), served_model_name=["a"], arguments=arguments
    )
    keep_metrics()
    PrometheusStatLogger(config).log_engine_initialized()
    metrics = take_metrics("a")
    text = generate_latest(REGISTRY).decode()
    families = [*text_string_to_metric_families(text)]
    metrics.discard()
    return {
        name
        for family in families
        for name in (
            *(sample.name for sample in family.samples),
            *(family.name + each for each in SUFFIXES.get(family.type, ())),
            *((f"{family.name}_total",) if family.type == "counter" else ()),
        )
    }


def ours() -> set[str]:
    return {
        f"{family.name}{suffix}"
        for family in FAMILIES.values()
        for suffix in SUFFIXES.get(family.kind, ("",))
    }


def test_it_names_only_metrics_that_exist(of_vllm: set[str]) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    asked = {name for text in expressions(dashboard) for name in names_in(text)}
    assert asked - of_vllm - ours() - OF_PROMETHEUS == set()
    assert len(asked & of_vllm) > 5
    assert len(asked & ours()) > 10


def test_a_name_that_does_not_exist_would_be_noticed() -> None:
    text = 'sum by (le) (rate(vllm_di_request_second_bucket{a="$b"}[$__rate_interval]))'
    assert names_in(text) == {"vllm_di_request_second_bucket"}
    assert names_in("label_values(vllm_di_model_redy, model_name)") == {
        "vllm_di_model_redy"
    }


def test_every_metric_of_ours_that_moves_is_on_it(of_vllm: set[str]) -> None:
    text = DASHBOARD.read_text()
    assert {name for name in FAMILIES if name not in text} == set()
