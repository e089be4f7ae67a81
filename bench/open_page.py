"""Status pages that are open: readers of the server's feed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx

PATH = "/admin/status/events"
PATIENCE_S = 60


@contextmanager
def open_pages(url: str, n: int) -> Iterator[None]:
    """Read the feed as n pages do, each from its first event on."""
    with ExitStack() as opened:
        for _ in range(n):
            opened.enter_context(_open_page(url))
        yield


@contextmanager
def _open_page(url: str) -> Iterator[None]:
    has_begun, is_over = threading.Event(), threading.Event()

    def read() -> None:
        while not is_over.is_set():
            with httpx.stream("GET", url + PATH, timeout=PATIENCE_S) as response:
                for _ in response.raise_for_status().iter_lines():
                    has_begun.set()
                    if is_over.is_set():
                        return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        has_begun.wait(PATIENCE_S)
        yield
    finally:
        is_over.set()
        reader.join()
