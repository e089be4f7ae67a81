"""The status page over ``vllm-di serve`` with the bundled models and their engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from playwright.sync_api import expect
from prometheus_client.parser import text_string_to_metric_families

from tests.engine.servers import CHAT, CONFIG, Server, serve
from tests.page.conftest import NEEDS_CHROMIUM, Look, screenshot
from tests.page.doubles import ADMIN, ANSWER, KEY

pytestmark = [
    pytest.mark.engine,
    pytest.mark.soak,
    NEEDS_CHROMIUM,
]

START_MS = 240_000
MODEL = CHAT["name"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    section = {"host": "127.0.0.1", "ui": True, "admin_keys": [KEY]}
    server = serve(tmp_path, server=section)
    try:
        server.wait_for(lambda: server.health() is not None)
        yield server
        assert server.stop() == 0, server.log
    finally:
        server.kill()
        left = server.left_behind()
    assert not left


def shown(url: str) -> dict[str, float]:
    text = httpx.get(f"{url}/metrics").text
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("model_name") == MODEL
    }


def edited(path: Path, template: str) -> None:
    config: dict[str, Any] = yaml.safe_load(path.read_text())
    config["models"][0]["chat"]["template"] = template
    path.write_text(yaml.safe_dump(config))


def test_a_start_a_chat_and_a_reload(
    server: Server, look: Look, tmp_path: Path
) -> None:
    tab = look(server.url).open(KEY)
    expect(tab.locator("#phase")).to_have_text("starting")
    expect(tab.locator(".node.busy").first).to_be_visible(timeout=START_MS)
    expect(tab.locator("#phase")).to_have_text("ready", timeout=START_MS)
    expect(tab.locator('.node:not([data-state="ready"])')).to_have_count(0)
    tab.fill("#question", "What is the capital of France?")
    tab.click("#send")
    expect(tab.locator(".message.assistant .words")).to_have_text(
        ANSWER, timeout=60_000
    )
    expect(tab.locator(".message.assistant .measured")).to_contain_text("8 tokens")
    expect(tab.locator("#prompt-text")).to_contain_text(
        "What is the capital of France?"
    )
    card = tab.locator(f'[data-model="{MODEL}"]')
    found = shown(server.url)
    n_tokens = int(found["vllm:generation_tokens_total"])
    assert n_tokens >= 8
    n_read = int(found["vllm:prompt_tokens_total"])
    facts = f"{n_tokens} tokens generated, {n_read} read in prompts"
    expect(card.locator("p.facts")).to_have_text(facts)
    expect(card.locator('[data-figure="n_running"]')).to_have_text("0")
    screenshot(tab, "engine")

    edited(tmp_path / CONFIG.name, "{{ messages[0].content }}")
    tab.get_by_role("button", name="Reload…").click()
    plan = tab.locator("[data-plan]")
    expect(plan).to_contain_text("builds chat_template")
    expect(plan).to_contain_text("Its engine goes on.")
    expect(card.locator("summary")).to_contain_text("Generation 1")
    tab.locator("#dialog-yes").click()
    expect(card.locator("summary")).to_have_text("Generation 2: new settings")
    tab.fill("#question", "Hello")
    tab.click("#show-prompt")
    expect(tab.locator("#prompt-text")).not_to_contain_text("<|im_start|>")
    status = httpx.get(f"{server.url}/admin/status", headers=ADMIN).json()
    assert shown(server.url)["vllm_di_generation"] == 2
    assert status["troubles"] == []
