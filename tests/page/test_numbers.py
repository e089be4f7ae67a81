"""What the page works out of what it is told: totals, counts, spans and places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.conftest import NEEDS_CHROMIUM, Look
from tests.page.doubles import KEY, Doubles, serving
from tests.page.test_page import card, figure, status, written_s

pytestmark = [pytest.mark.engine, pytest.mark.soak, NEEDS_CHROMIUM]

UP = re.compile(r"up (?:(\d+) min )?(\d+) s")


def test_every_other_number_follows_from_the_api(tmp_path: Path, look: Look) -> None:
    doubles = Doubles(tmp_path, {"name": "paris"}, admin_keys=[KEY])
    with serving(doubles, "paris") as (url, (measured,)):
        measured.add(kv_cache_usage_perc=0.5, num_requests_waiting=4)
        tab = look(url).open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        expect(figure(tab, "n_waiting")).to_have_text("4")
        usage = card(tab).locator(".usage > span")
        assert usage.evaluate("each => each.style.width") == "50%"
        seen = status(url)
        (model,) = seen["models"]
        check_graph(tab, model)
        check_start(tab, model)
        check_span(tab, status(url))
        versions = f"vllm-di {seen['versions']['vllm-di']} · vLLM"
        expect(tab.locator("#versions")).to_contain_text(versions)
        lines = tab.locator("#setting-rows tr").count()
        tab.uncheck("#only-set")
        assert tab.locator("#setting-rows tr").count() > lines > 0


def check_graph(tab: Any, model: dict[str, Any]) -> None:
    wanted = [each for each in model["resources"] if not each["is_left_out"]]
    n_out = len(model["resources"]) - len(wanted)
    n_ready = sum(each["state"] == "ready" for each in wanted)
    expect(tab.locator("#graph-summary")).to_have_text(
        f"{n_ready} of {len(wanted)} resources ready, {n_out} not for this model"
    )
    assert tab.locator(".level").count() == max(each["level"] for each in wanted)
    tokenizer = next(each for each in wanted if each["name"] == "tokenizer")
    tab.click('.node[data-resource="tokenizer"]')
    expect(tab.locator("#resource")).to_contain_text(
        f"is ready after {written_s(tokenizer['seconds'])}"
    )


def check_start(tab: Any, model: dict[str, Any]) -> None:
    loaded = model["resources"]
    began = min(each["started_at"] for each in loaded)
    total = max(each["started_at"] + each["seconds"] for each in loaded) - began
    longest = max(loaded, key=lambda each: each["seconds"])
    expect(tab.locator("#start-summary")).to_have_text(
        f"Generation 1: {written_s(total)}, most of it for {longest['name']}."
    )
    mark = tab.locator(f'#bars [data-resource="{longest["name"]}"] .track > span')
    left, width = mark.evaluate("each => [each.style.left, each.style.width]")
    begun = (longest["started_at"] - began) / total
    assert float(left.rstrip("%")) == pytest.approx(100 * begun, abs=0.1)
    part = longest["seconds"] / total
    assert float(width.rstrip("%")) == pytest.approx(100 * part, abs=0.1)


def check_span(tab: Any, seen: dict[str, Any]) -> None:
    found = UP.search(tab.locator("#summary").inner_text())
    assert found is not None
    up_s = 60 * int(found[1] or 0) + int(found[2])
    assert up_s == pytest.approx(seen["figures"]["at"] - seen["began_at"], abs=3)
