"""A browser, and servers over doubles that it looks at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = (390, 820, 1440)
SCHEMES = ("light", "dark")

NEEDS_CHROMIUM = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="Debian's chromium is not installed"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium; of a module, since its driver holds an event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=str(CHROMIUM), args=ARGUMENTS, timeout=60_000
        )
        yield chromium
        chromium.close()


class Watched:
    """A tab, and what it must not do: complain, or ask anybody else.

    Args:
        tab: Playwright's page.
        url: The server's URL.

    Attributes:
        complaints: What the console said, and which requests went elsewhere.
        expected: Texts of complaints that a test provokes.
    """

    def __init__(self, tab: Any, url: str) -> None:
        self.tab = tab
        self.url = url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.expected: tuple[str, ...] = ()
        tab.on("console", self._heard)
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("request", self._asked)

    def open(self, key: str = "") -> Any:
        """Open the page, with this key if it asks for one; gives the tab."""
        self.tab.goto(f"{self.url}/ui")
        if key:
            self.tab.fill("#key", key)
            self.tab.click("#door button")
        self.tab.wait_for_selector("#models .card")
        return self.tab

    def check(self) -> None:
        """Fail for what it must not have done."""
        left = [
            each
            for each in self.complaints
            if not any(text in each for text in self.expected)
        ]
        assert left == []

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _asked(self, request: Any) -> None:
        self.requests.append(request.url)
        if not request.url.startswith(f"{self.url}/"):
            self.complaints.append(f"asked {request.url}")


Look = Callable[..., Watched]


@pytest.fixture
def look(browser: Any) -> Iterator[Look]:
    """Opens tabs on a server: ``look(url, width=1440, scheme="light")``."""
    with ExitStack() as ends:

        def look(url: str, width: int = 1440, scheme: str = "light") -> Watched:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            ends.callback(context.close)
            context.set_default_timeout(20_000)
            context.set_default_navigation_timeout(60_000)  # vLLM is being imported
            watched = Watched(context.new_page(), url)
            ends.callback(watched.check)
            return watched

        yield look


def screenshot(tab: Any, name: str) -> None:
    """Keep a picture of the whole page in ``VLLM_DI_SCREENSHOTS``, if that is set."""
    folder = os.environ.get("VLLM_DI_SCREENSHOTS")
    if folder:
        tab.evaluate("() => window.scrollTo(0, 0)")
        tab.screenshot(path=Path(folder) / f"{name}.png", full_page=True)
