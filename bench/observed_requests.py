"""Requests given to apps in this very process, one app for each way of being watched.

No socket and no other process lies between, so what a request costs the processor shows
where requests a second are lost in what others do on the machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI

from app.logs import logs
from bench.figures import Single
from bench.front_ends import WATCHED, app_of, settings_of
from containers.settings.server.observing import LogSettings

PATH = "/v1/chat/completions"
N_AT_ONCE = 16
N_TURNS_EACH = 20
QUESTION = {"messages": [{"role": "user", "content": "What is it?"}], "max_tokens": 1}
BODY = json.dumps(QUESTION).encode()


async def processor_us(n: int) -> list[Single]:
    """Microseconds of the processor a short request takes, by what watches it."""
    figures = [Single(f"{kind}: a request", "cpu us") for kind in WATCHED]
    async with _started() as apps:
        for number in range(n + 1):
            for figure, app in zip(figures, apps.values(), strict=True):
                began_s = time.process_time()
                for _ in range(N_TURNS_EACH):
                    await asyncio.gather(*(_ask(app) for _ in range(N_AT_ONCE)))
                taken_s = time.process_time() - began_s
                if number:
                    figure.values.append(1e6 * taken_s / N_TURNS_EACH / N_AT_ONCE)
    return figures


@asynccontextmanager
async def _started() -> AsyncIterator[Mapping[str, FastAPI]]:
    made = {kind: app_of(settings_of(0, 1, {}, of)) for kind, of in WATCHED.items()}
    terminal = sys.stderr
    with tempfile.TemporaryFile("w", buffering=1) as file:
        sys.stderr = file
        try:
            with logs(LogSettings(format="json")):
                async with AsyncExitStack() as stack:
                    for app in made.values():
                        lifespan = app.router.lifespan_context(app)
                        await stack.enter_async_context(lifespan)
                    yield made
        finally:
            sys.stderr = terminal


async def _ask(app: FastAPI) -> None:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"bench"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }
    unread = [{"type": "http.request", "body": BODY, "more_body": False}]
    gone, statuses = asyncio.Event(), []

    async def receive() -> dict[str, Any]:
        if not unread:
            await gone.wait()
        return unread.pop()

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    await app(scope, receive, send)
    assert statuses[0] == 200, statuses  # noqa: S101, PLR2004  # a figure of errors is none
