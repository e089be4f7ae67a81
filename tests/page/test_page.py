"""The status page in a browser, over servers whose engines are doubles."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from prometheus_client.parser import text_string_to_metric_families

from tests.adapters import adapter
from tests.page.conftest import NEEDS_CHROMIUM, SCHEMES, WIDTHS, Look, screenshot
from tests.page.doubles import ADMIN, ANSWER, KEY, Doubles, Measured, serving

pytestmark = [pytest.mark.engine, pytest.mark.soak, NEEDS_CHROMIUM]

QUESTION = "What is the capital of France?"


@pytest.fixture
def doubles(tmp_path: Path) -> Doubles:
    return Doubles(tmp_path, {"name": "paris"}, admin_keys=[KEY])


@pytest.fixture
def measured_server(doubles: Doubles) -> Iterator[tuple[str, Measured]]:
    with serving(doubles, "paris") as (url, (measured,)):
        yield url, measured


def card(tab: Any, model: str = "paris") -> Any:
    return tab.locator(f'[data-model="{model}"]')


def figure(tab: Any, name: str) -> Any:
    return card(tab).locator(f'[data-figure="{name}"]')


def status(url: str) -> dict[str, Any]:
    content: dict[str, Any] = httpx.get(f"{url}/admin/status", headers=ADMIN).json()
    return content


def metrics(url: str) -> dict[str, float]:
    text = httpx.get(f"{url}/metrics").text
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("model_name") == "paris"
    }


def press(tab: Any, button: str, yes: str) -> None:
    """Press a button, and the one of the dialog that it opens."""
    tab.get_by_role("button", name=button, exact=True).click()
    tab.locator("#dialog").get_by_role("button", name=yes, exact=True).click()
    expect(tab.locator("#dialog")).to_be_hidden()


def test_a_stranger_sees_the_door_and_nothing_behind_it(
    doubles: Doubles, look: Look
) -> None:
    with serving(doubles) as (url, _):
        watched = look(url)
        tab = watched.tab
        watched.expected = ("401",)
        tab.goto(f"{url}/ui")
        expect(tab.locator("#door")).to_be_visible()
        assert not any("/admin/" in each for each in watched.requests)
        tab.fill("#key", "wrong")
        tab.click("#door button")
        expect(tab.locator("#refused")).to_have_text("This server knows no such key.")
        tab.fill("#key", KEY)
        tab.keyboard.press("Enter")
        expect(card(tab)).to_be_visible()
        assert not any(KEY in each for each in watched.requests)
        tab.reload()
        expect(card(tab)).to_be_visible()
        tab.click("#forget")
        expect(tab.locator("#door")).to_be_visible()


def test_the_graph_comes_alive_while_the_server_starts(
    doubles: Doubles, look: Look
) -> None:
    may_start = threading.Event()
    build = doubles.application.models()["paris"].tokenizer.provides

    def slow(**injected: object) -> object:
        may_start.wait(30)
        return build(**injected)

    doubles.application.models()["paris"].tokenizer.set_provides(slow)
    with serving(doubles) as (url, _):
        try:
            tab = look(url).open(KEY)
            tokenizer = tab.locator('[data-resource="tokenizer"].node')
            expect(tokenizer).to_have_attribute(
                "data-state", "starting", timeout=60_000
            )
            expect(tab.locator("#phase")).to_have_text("starting")
            row = tab.locator('#bars [data-resource="tokenizer"] .number')
            expect(row).to_have_text(re.compile(r"\d"))
        finally:
            may_start.set()
        expect(tab.locator("#phase")).to_have_text("ready", timeout=30_000)
        expect(tab.locator('.node:not([data-state="ready"])')).to_have_count(0)


def test_every_number_is_that_of_the_api(
    measured_server: tuple[str, Measured], look: Look
) -> None:
    url, measured = measured_server
    measured.add(
        num_requests_running=3,
        num_requests_waiting=2,
        kv_cache_usage_perc=0.318,
        prompt_tokens=1234,
        generation_tokens=5678,
    )
    tab = look(url).open(KEY)
    expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
    expect(figure(tab, "n_running")).to_have_text("3")
    shown, seen = metrics(url), status(url)
    found = seen["figures"]["models"]["paris"]
    assert found["n_running"] == shown["vllm:num_requests_running"] == 3
    assert found["n_waiting"] == shown["vllm:num_requests_waiting"]
    expect(figure(tab, "n_waiting")).to_have_text(str(found["n_waiting"]))
    usage = shown["vllm:kv_cache_usage_perc"]
    expect(figure(tab, "kv_cache_usage")).to_have_text(f"{usage * 100:.1f} %")
    generated = int(shown["vllm:generation_tokens_total"])
    read = int(shown["vllm:prompt_tokens_total"])
    facts = f"{generated:,} tokens generated, {read:,} read in prompts"
    expect(card(tab).locator("p.facts")).to_have_text(facts)
    expect(tab.locator("#summary")).to_contain_text("1 model · 0 requests in flight")
    (model,) = seen["models"]
    for each in model["resources"]:
        node = tab.locator(f'.node[data-resource="{each["name"]}"] .seconds')
        expect(node).to_have_text(
            "" if each["is_left_out"] else written_s(each["seconds"])
        )
    card(tab).locator("summary").click()
    (start,) = model["history"]
    history = card(tab).locator(".history li")
    expect(history).to_have_count(1)
    expect(history).to_contain_text(written_s(start["seconds"]))
    assert shown["vllm_di_generation_start_seconds"] == pytest.approx(start["seconds"])
    assert shown["vllm_di_generation"] == model["generation"] == 1


def written_s(seconds: float) -> str:
    """Seconds as the page writes them."""
    if seconds < 0.0005:
        return "0 s"
    return f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.2f} s"


def test_the_waterfall_has_a_bar_for_each_resource_and_its_seconds(
    doubles: Doubles, look: Look
) -> None:
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        if tab.locator("#all-bars").is_visible():
            tab.click("#all-bars")
        (model,) = status(url)["models"]
        bars = tab.locator("#bars tr[data-resource]")
        expect(bars).to_have_count(len(model["resources"]))
        for each in model["resources"]:
            number = tab.locator(f'#bars [data-resource="{each["name"]}"] .number')
            expect(number).to_have_text(written_s(each["seconds"]))


@pytest.mark.soak
def test_tokens_a_second_are_the_growth_of_the_counter(
    measured_server: tuple[str, Measured], look: Look
) -> None:
    url, measured = measured_server
    tab = look(url).open(KEY)
    expect(figure(tab, "n_running")).to_have_text("0", timeout=60_000)
    expect(figure(tab, "rate")).to_have_text("0.0")
    done = threading.Event()

    def generate() -> None:
        while not done.wait(0.1):
            measured.add(generation_tokens=20)

    threading.Thread(target=generate).start()
    try:
        tab.wait_for_timeout(7000)
        rate = float(figure(tab, "rate").inner_text())
        assert 140 < rate < 210
    finally:
        done.set()


def test_the_chat_box_streams_the_answer_and_shows_the_prompt(
    doubles: Doubles, look: Look
) -> None:
    doubles.delay_s = 0.05
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        tab.fill("#question", QUESTION)
        tab.keyboard.press("Enter")
        expect(tab.locator("#send")).to_have_text("Stop")
        words = tab.locator(".message.assistant .words")
        expect(words).to_have_text(ANSWER)
        expect(tab.locator(".message.assistant .measured")).to_contain_text("7 tokens")
        messages = [{"role": "user", "content": QUESTION}]
        tokens = httpx.post(f"{url}/tokenize", json={"messages": messages}).json()
        expect(tab.locator("#prompt-size")).to_have_text(f"{tokens['count']} tokens")
        assert [int(t) for t in tab.locator("#tokens small").all_inner_texts()] == (
            tokens["tokens"]
        )
        marks = re.compile("[\u0120\u010a\u2581]")
        chips = tab.locator("#tokens li")
        assert not any(marks.search(text) for text in chips.all_inner_texts())
        named = [each.get_attribute("title") for each in chips.all()]
        assert any(name and marks.search(name) for name in named)
        again = {"tokens": tokens["tokens"]}
        prompt = httpx.post(f"{url}/detokenize", json=again).json()["prompt"]
        assert tab.locator("#prompt-text").text_content() == prompt
        asked = doubles.engines["paris"][0].requests[-1]
        assert list(asked.prompt_token_ids or ()) == tokens["tokens"]


def test_template_kwargs_reach_the_template(tmp_path: Path, look: Look) -> None:
    template = "{{ mark }}{% for m in messages %}{{ m.content }}{% endfor %}"
    doubles = Doubles(tmp_path, {"name": "paris", "chat": {"template": template}})
    with serving(doubles) as (url, _):
        tab = look(url).open()
        tab.locator("#ask summary").click()
        tab.fill("#kwargs", '{"mark": "Hear: "}')
        tab.fill("#question", "Where?")
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        tab.click("#show-prompt")
        expect(tab.locator("#prompt-text")).to_have_text("Hear: Where?")
        tab.fill("#kwargs", "[1]")
        tab.click("#show-prompt")
        expect(tab.locator("#chat-problem")).to_contain_text("no JSON object")


def test_what_the_server_refuses_is_told_and_the_question_kept(
    doubles: Doubles, look: Look
) -> None:
    with serving(doubles) as (url, _):
        watched = look(url)
        watched.expected = ("400",)
        tab = watched.open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        tab.locator("#ask summary").click()
        tab.fill("#max-tokens", "99999999")
        tab.fill("#question", QUESTION)
        tab.click("#send")
        expect(tab.locator("#chat-problem")).to_contain_text("max_tokens")
        expect(tab.locator("#question")).to_have_value(QUESTION)
        expect(tab.locator("#send")).to_have_text("Send")


def test_what_comes_from_elsewhere_stays_text(tmp_path: Path, look: Look) -> None:
    evil = "<img src=x onerror=alert(1)><b>bold</b>"
    doubles = Doubles(tmp_path, {"names": [evil, "paris"], "name": evil})
    doubles.script = evil
    with serving(doubles) as (url, _):
        tab = look(url).open()
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        expect(tab.locator("article h3")).to_have_text(evil)
        tab.fill("#question", evil)
        tab.click("#send")
        expect(tab.locator(".message.assistant .words")).to_have_text(evil)
        expect(tab.locator("#prompt-text")).to_contain_text(evil)
        assert tab.locator("main img, main b").count() == 0


def test_a_reload_shows_first_what_it_would_do(doubles: Doubles, look: Look) -> None:
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        template = "new{% for m in messages %}{{ m.content }}{% endfor %}"
        doubles.write(
            {"name": "paris", "chat": {"template": template}}, admin_keys=[KEY]
        )
        tab.get_by_role("button", name="Reload…").click()
        plan = tab.locator("[data-plan]")
        expect(plan).to_contain_text("chat_template")
        expect(plan).to_contain_text("Its engine goes on.")
        assert status(url)["models"][0]["generation"] == 1
        tab.locator("#dialog-yes").click()
        expect(tab.locator("#dialog")).to_be_hidden()
        expect(card(tab).locator("summary")).to_have_text("Generation 2: new settings")
        expect(tab.locator("#start-summary")).to_contain_text("were kept")
        expect(tab.locator("#setting-rows")).to_contain_text("new{% for m in messages")
        assert len(doubles.engines["paris"]) == 1


def test_a_reload_that_is_refused_says_why(doubles: Doubles, look: Look) -> None:
    with serving(doubles) as (url, _):
        watched = look(url)
        watched.expected = ("409",)
        tab = watched.open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        doubles.file.write_text("models: []")
        tab.get_by_role("button", name="Reload…").click()
        expect(tab.locator("#dialog-body")).to_contain_text("models")
        expect(tab.locator("#dialog-yes")).to_be_hidden()


def test_a_model_is_held_woken_and_unloaded(doubles: Doubles, look: Look) -> None:
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        state = card(tab).locator(".state")
        expect(state).to_have_text("ready", timeout=60_000)
        press(tab, "Hold requests…", "Hold requests")
        expect(state).to_have_text("asleep")
        tab.get_by_role("button", name="Wake up").click()
        expect(state).to_have_text("ready")
        press(tab, "Unload…", "Unload")
        expect(state).to_have_text("unloaded")
        tab.fill("#question", QUESTION)
        tab.click("#send")
        expect(tab.locator(".message.assistant .words")).to_have_text(ANSWER)
        expect(state).to_have_text("ready")
        expect(card(tab).locator("summary")).to_contain_text("loaded again")


def test_an_adapter_is_loaded_and_unloaded(tmp_path: Path, look: Look) -> None:
    engine = {"enforce_eager": True, "enable_lora": True, "max_lora_rank": 16}
    lora = {"name": "paris", "engine": engine}
    doubles = Doubles(tmp_path, lora, admin_keys=[KEY], enable_runtime_lora=True)
    folder = adapter(tmp_path / "adapter", doubles.source)
    with serving(doubles) as (url, _):
        watched = look(url)
        watched.expected = ("404",)
        tab = watched.open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        tab.get_by_role("button", name="Load adapter…").click()
        tab.fill("#lora_name", "<b>styled</b>")
        tab.fill("#lora_path", "/nowhere")
        tab.click("#dialog-yes")
        expect(tab.locator("#dialog-problem")).to_contain_text("/nowhere")
        tab.fill("#lora_path", str(folder))
        tab.click("#dialog-yes")
        loaded = card(tab).locator(".adapters li")
        expect(loaded).to_contain_text("<b>styled</b>")
        loaded.get_by_role("button").click()
        expect(loaded).to_have_count(0)


def test_a_drain_is_asked_for_twice_and_shown(doubles: Doubles, look: Look) -> None:
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        press(tab, "Drain…", "Drain")
        expect(tab.locator("#phase")).to_have_text("draining")
        expect(tab.locator("#server-actions button")).to_have_count(0)
        assert httpx.get(f"{url}/readyz").status_code == 503


def test_only_what_the_server_offers_has_a_button(tmp_path: Path, look: Look) -> None:
    with serving(Doubles(tmp_path, {"name": "paris"})) as (url, _):
        tab = look(url).open()
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        expect(tab.locator(".actions button, #server-actions button")).to_have_count(0)
        expect(tab.locator("#forget")).to_be_hidden()


def test_errors_are_shown_with_their_provider(tmp_path: Path, look: Look) -> None:
    doubles = Doubles(tmp_path, {"name": "paris", "load": "lazy"})
    doubles.fails = [RuntimeError("no memory is left")]
    with serving(doubles) as (url, _):
        watched = look(url)
        watched.expected = ("503",)
        tab = watched.open()
        expect(card(tab).locator(".state")).to_have_text("unloaded", timeout=60_000)
        tab.fill("#question", QUESTION)
        tab.click("#send")
        expect(tab.locator("#trouble-list .error .where")).to_have_text(
            "paris / engine"
        )
        expect(tab.locator("#trouble-list")).to_contain_text("no memory is left")
        expect(tab.locator("#n-troubles")).to_have_text("1")


def test_settings_are_found_with_their_origin(doubles: Doubles, look: Look) -> None:
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        rows = tab.locator("#setting-rows tr")
        lines = httpx.get(f"{url}/admin/settings", headers=ADMIN).json()["lines"]
        expect(rows.filter(has_text="admin_keys:")).to_have_count(1)
        for empty in ("ray:", "performance:"):
            expect(rows.filter(has_text=empty)).to_have_count(0)
        tab.uncheck("#only-set")
        expect(rows).to_have_count(len(lines))
        tab.fill("#find", "drain_timeout_s")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("default")
        tab.fill("#find", "admin_keys:")
        expect(rows).to_contain_text("**********")
        expect(rows).to_contain_text("config.yaml:")
        assert KEY not in tab.locator("#setting-rows").inner_text()


@pytest.mark.soak
def test_it_says_that_the_server_is_gone_and_sees_it_again(
    tmp_path: Path, look: Look
) -> None:
    doubles = Doubles(tmp_path, {"name": "paris"})
    with serving(doubles) as (url, _):
        watched = look(url)
        watched.expected = ("ERR_", "Failed to load")
        tab = watched.open()
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        tab.route("**/admin/status/events", lambda route: route.abort())
        expect(tab.locator("#phase")).to_have_text("not answering", timeout=30_000)
        tab.unroute("**/admin/status/events")
        expect(tab.locator("#phase")).to_have_text("ready")


def test_the_graph_is_used_with_the_keyboard_alone(
    doubles: Doubles, look: Look
) -> None:
    with serving(doubles) as (url, _):
        tab = look(url).open(KEY)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        node = tab.locator('.node[data-resource="renderer"]')
        node.focus()
        tab.keyboard.press("Enter")
        expect(node).to_have_attribute("aria-pressed", "true")
        expect(tab.locator("#resource")).to_contain_text("It needs tokenizer")
        expect(tab.locator(".levels path.near").first).to_be_attached()
        tab.keyboard.press("Space")
        expect(node).to_have_attribute("aria-pressed", "false")


@pytest.mark.soak
def test_nothing_is_too_wide_or_hard_to_reach(
    measured_server: tuple[str, Measured], look: Look
) -> None:
    url, measured = measured_server
    measured.add(num_requests_running=2, kv_cache_usage_perc=0.5)
    for scheme in SCHEMES:
        for width in (360, *WIDTHS):
            tab = look(url, width, scheme).open(KEY)
            expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
            wide = tab.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= width
            tab.fill("#question", QUESTION)
            tab.click("#send")
            expect(tab.locator(".message .measured").last).to_contain_text("tokens")
            tab.click('.node[data-resource="renderer"]')
            screenshot(tab, f"page-{scheme}-{width}")
            found = Axe().run(tab).response["violations"]
            serious = [v for v in found if v["impact"] in ("serious", "critical")]
            assert serious == [], json.dumps(serious, indent=1)
