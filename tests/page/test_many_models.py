"""The page with more models than fit on it, odd names, and another server behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.conftest import NEEDS_CHROMIUM, Look
from tests.page.doubles import KEY, Doubles, serving
from tests.page.test_page import card

pytestmark = [pytest.mark.engine, pytest.mark.soak, NEEDS_CHROMIUM]

PARIS = {"name": "paris", "load": "lazy"}
ODD = ("constructor", "__proto__", "toString", "a/b?c#d", "ünï")


def test_of_many_models_some_are_found(tmp_path: Path, look: Look) -> None:
    names = ["paris", *(f"town-{number}" for number in range(11))]
    models = [{"name": name, "load": "lazy"} for name in names]
    with serving(Doubles(tmp_path, *models)) as (url, _):
        tab = look(url).open()
        cards = tab.locator("#cards article:visible")
        expect(cards).to_have_count(12)
        tab.fill("#find-model", "TOWN-1")
        expect(cards).to_have_count(2)
        expect(tab.locator("#phase")).to_have_text("ready", timeout=60_000)
        tab.fill("#find-model", "unloaded")
        expect(cards).to_have_count(12)
        tab.fill("#find-model", "nowhere")
        expect(cards).to_have_count(0)


def test_a_model_may_be_called_as_what_every_object_has(
    tmp_path: Path, look: Look
) -> None:
    models = [PARIS | {"name": name} for name in ODD]
    with serving(Doubles(tmp_path, *models), "constructor") as (url, (measured,)):
        measured.add(num_requests_running=7)
        tab = look(url).open()
        expect(tab.locator("#cards article")).to_have_count(len(ODD))
        running = card(tab, "constructor").locator('[data-figure="n_running"]')
        expect(running).to_have_text("7", timeout=60_000)
        for name in ODD[1:]:
            expect(card(tab, name)).to_have_class("panel card unmeasured")
        assert "NaN" not in tab.locator("#models").inner_text()
        expect(tab.locator("#find-model")).to_be_hidden()


def test_a_page_left_open_over_a_restart_shows_the_new_server(
    tmp_path: Path, look: Look
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first = Doubles(folders[0], PARIS, admin_keys=[KEY], drain_timeout_s=7)
    rome = {"name": "rome", "load": "lazy"}
    second = Doubles(folders[1], rome, admin_keys=[KEY], drain_timeout_s=8)
    with serving(first) as (old, _), serving(second) as (new, _):
        watched = look(old)
        watched.expected = ("ERR_",)
        tab = watched.open(KEY)
        rows = tab.locator("#setting-rows")
        expect(rows).to_contain_text("drain_timeout_s: 7")
        tab.route(
            "**/admin/**",
            lambda route: route.continue_(url=route.request.url.replace(old, new)),
        )
        expect(card(tab, "rome")).to_be_visible(timeout=30_000)
        expect(card(tab, "paris")).to_have_count(0)
        expect(rows).to_contain_text("drain_timeout_s: 8")
