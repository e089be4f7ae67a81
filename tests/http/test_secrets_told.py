"""No place where the text of an error comes out tells a secret that is in it."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import app
from app import create_app
from app.metrics import own_metrics
from app.progress.lines import StartProgress
from app.progress.logged import LoggedProgress
from app.status import feed
from app.status.troubles import MAX_CHARS
from containers.log_format import Format, formatter
from tests.http.collector import collecting
from tests.http.test_lazy import Serving, folder
from tests.http.test_status import log

__all__ = ["folder"]

SECRETS = ("plain-key", "named-key", "admin-key", "hub-token", "pw9", "rotated-key")
HINT = "the hub gave 401"
TEXT = (
    f"{HINT} for plain-key, named-key and admin-key: "
    "https://user:pw9@hub/x?token=hub-token (hub-token, rotated-key)"
)
SERVER = {
    "api_keys": ["plain-key", {"name": "team", "key": "named-key"}],
    "admin_keys": ["admin-key"],
}
ADMIN = {"Authorization": "Bearer admin-key"}
MODEL = {"name": "a", "engine": {"enforce_eager": True, "hf_token": "hub-token"}}
QUESTION = {"messages": [{"role": "user", "content": "Where?"}]}


def check(text: str, hint: str = HINT) -> None:
    """It tells what failed, and no secret."""
    assert hint in text
    assert [secret for secret in SECRETS if secret in text] == []


@contextmanager
def logged(form: Format) -> Iterator[io.StringIO]:
    """What our formatter makes of every line of the block."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter(form))
    names = ("app", "containers", "vllm", "vllm_di", "uvicorn")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    try:
        yield stream
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


def serving_of(folder: str, model: dict[str, Any] = MODEL, **more: Any) -> Serving:
    """A server whose settings were others before: the token in them is old."""
    serving = Serving(folder, model, **SERVER, **more)
    serving.service.secrets.add(["rotated-key"])
    return serving


@pytest.mark.parametrize("form", ["json", "text"])
async def test_of_a_start_that_fails(folder: str, form: Format) -> None:
    with collecting() as collector, logged(form) as lines:
        traces = {"endpoint": collector.url, "protocol": "http/protobuf"}
        serving = serving_of(folder, traces=traces)
        serving.app = create_app(serving.application, wait_until_ready=False)
        serving.service.secrets.add(["rotated-key"])
        serving.fails = [RuntimeError(TEXT)]
        over, terminal = asyncio.Event(), io.StringIO()
        serving.service.on_change = lambda: (
            over.set() if serving.service.error is not None else None
        )
        progress = StartProgress(serving.containers, stream=terminal)
        async with serving.client() as client:
            await over.wait()
            for each in (progress, LoggedProgress(serving.containers)):
                each.say(f"the start failed: {serving.service.error}")
            check((await client.get("/startupz")).text)
            check((await client.get("/admin/status", headers=ADMIN)).text)
            events = feed.events(serving.service)
            check(await anext(events))
            await events.aclose()
            asked = await client.post(
                "/v1/chat/completions", json=QUESTION, headers=ADMIN
            )
            check(asked.text, "failed")
            check(own_metrics(serving.service).decode(), 'provider="engine"')
        failed = [span for span in collector.spans if span.has_failed]
    assert {span.name for span in failed} == {"start-up", "start a", "start engine"}
    for span in failed:
        check(span.status)
        (event,) = span.events
        assert event["name"] == "exception"
        check(event["exception.message"])
        check(event["exception.stacktrace"])
        assert "Traceback" in event["exception.stacktrace"]
    check(terminal.getvalue())
    check(lines.getvalue())


async def test_of_requests_that_fail(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = serving_of(folder)
    with logged("json") as lines:
        async with serving.client() as client:
            engine = serving.engines["a"][0]

            def generate(*_: Any, **__: Any) -> Any:
                raise RuntimeError(TEXT)

            monkeypatch.setattr(engine, "generate", generate)
            for stream in (False, True):
                for path, body in (
                    ("/v1/chat/completions", QUESTION),
                    ("/v1/completions", {"prompt": "Where?"}),
                    ("/v1/responses", {"input": "Where?"}),
                    ("/v1/messages", QUESTION | {"model": "a", "max_tokens": 2}),
                ):
                    answer = await client.post(
                        path, json=body | {"stream": stream}, headers=ADMIN
                    )
                    check(answer.text, "")
                    assert "error" in answer.text
            check((await client.get("/admin/status", headers=ADMIN)).text)
    check(lines.getvalue())


async def test_of_a_model_that_does_not_load(folder: str) -> None:
    serving = serving_of(folder, MODEL | {"load": "lazy"})
    with logged("json") as lines:
        async with serving.client() as client:
            serving.fails = [RuntimeError(TEXT)]
            refused = await client.post(
                "/v1/chat/completions", json=QUESTION, headers=ADMIN
            )
            assert refused.status_code == 503
            check(refused.text, "could not be loaded")
            check((await client.get("/admin/status", headers=ADMIN)).text)
    check(lines.getvalue())


async def test_of_a_reload_that_fails(folder: str) -> None:
    serving = serving_of(folder)
    changed = MODEL | {"engine": {"enforce_eager": True, "max_model_len": 128}}
    with logged("json") as lines:
        async with serving.client() as client:
            serving.fails = [RuntimeError(TEXT)]
            serving.service.load_settings = lambda: serving.settings(changed, **SERVER)
            refused = await client.post("/admin/reload", headers=ADMIN)
            assert refused.status_code == 409
            check(refused.text)
            check((await client.get("/admin/status", headers=ADMIN)).text)
    check(lines.getvalue())


async def test_a_key_in_a_path_is_not_in_the_line_of_its_request(folder: str) -> None:
    serving = serving_of(folder)
    with logged("json") as lines:
        async with serving.client() as client:
            await client.get("/v1/models/plain-key?key=plain-key", headers=ADMIN)
    check(lines.getvalue(), "/v1/models/**********")


async def test_a_secret_is_not_cut_in_two_where_a_long_text_ends(folder: str) -> None:
    serving = serving_of(folder)
    async with serving.client():
        text = "x" * (MAX_CHARS - 5) + "plain-key"
        log("%s", text, place=app.__file__)
        (seen, *_) = serving.service.troubles.recent
    assert len(seen.text) == MAX_CHARS
    assert "plain" not in seen.text
