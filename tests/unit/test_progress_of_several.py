"""What the start of several models shows, and what to ask them first."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from io import StringIO

import pytest
from dependency_injector import containers
from rich.console import Console
from rich.table import Table

from app.first_questions import curl_lines
from app.progress import StartProgress, lines
from app.progress.table import ModelRows
from containers.lifecycle import LoadedContainer, Resource, running

URL = "http://127.0.0.1:8000"


class Model(containers.DeclarativeContainer):
    """A config and an engine, which waits for ``may_start``, or fails."""

    instance_type = LoadedContainer

    config = Resource(lambda: "config")
    engine = Resource(lambda config: config, config=config)


def model(may_start: asyncio.Event, *, fails: bool = False) -> Model:
    async def engine(*, config: str) -> AsyncIterator[str]:
        await may_start.wait()
        if fails:
            raise MemoryError("no room")
        yield config

    made = Model()
    made.engine.set_provides(engine)
    return made


def shown(models: list[ModelRows]) -> list[str]:
    """The lines of the table as of now, with single blanks."""
    table = Table.grid(padding=(0, 2))
    for each in models:
        for row in each.rows():
            table.add_row(*row)
    console = Console(file=StringIO(), width=80)
    with console.capture() as capture:
        console.print(table)
    return [" ".join(line.split()) for line in capture.get().splitlines()]


async def test_only_the_model_that_is_starting_shows_its_resources() -> None:
    events = {name: asyncio.Event() for name in ("paris", "rome")}
    models = {name: model(event) for name, event in events.items()}
    rows = [ModelRows(n, m, is_one_of_several=True) for n, m in models.items()]
    assert shown(rows) == [
        "· paris waits for its turn",
        "· rome waits for its turn",
    ]
    events["paris"].set()
    async with running(models["paris"]):
        starting = asyncio.ensure_future(_start(models["rome"]))
        while "engine" not in (text := "\n".join(shown(rows))):  # noqa: ASYNC110  # no event says so
            await asyncio.sleep(0.01)
        first, second, *resources = text.splitlines()
        assert first.startswith("✓ paris")
        assert first.endswith("s ready")
        assert "rome" in second
        assert [line.split()[1] for line in resources] == ["config", "engine"]
        events["rome"].set()
        await starting


async def test_a_model_that_failed_shows_which_resource_did() -> None:
    may_start = asyncio.Event()
    may_start.set()
    failing = model(may_start, fails=True)
    rows = [ModelRows("rome", failing, is_one_of_several=True)]
    with pytest.raises(Exception, match="no room"):
        await _start(failing)
    assert any(line.startswith("✗ engine") for line in shown(rows))


async def _start(container: Model) -> None:
    async with running(container):
        pass


async def test_lines_name_the_model_where_there_are_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "REPORT_EVERY_S", 0.01)
    monkeypatch.setattr(lines, "WORTH_A_LINE_S", 0.0)
    events = {name: asyncio.Event() for name in ("paris", "rome")}
    models = {name: model(event) for name, event in events.items()}
    stream = StringIO()
    with StartProgress(models, stream=stream):
        for name, event in events.items():
            starting = asyncio.ensure_future(_start(models[name]))
            while f"waiting for {name}: engine" not in stream.getvalue():  # noqa: ASYNC110  # a thread says it
                await asyncio.sleep(0.01)
            event.set()
            await starting
    said = stream.getvalue()
    assert "paris: engine is ready after" in said
    assert "rome: engine is ready after" in said


def test_each_model_is_asked_what_it_can_answer() -> None:
    tasks = {
        "chat": ("generate",),
        "vectors": ("embed", "token_embed"),
        "classes": ("classify", "token_classify"),
        "rows": ("token_embed",),
        "ears": ("transcription",),
    }
    asked = [shlex.split(line) for line in curl_lines(URL, tasks, wants_key=False)]
    assert [(line[1], json.loads(line[-1])["model"]) for line in asked] == [
        (f"{URL}/v1/chat/completions", "chat"),
        (f"{URL}/v1/embeddings", "vectors"),
        (f"{URL}/classify", "classes"),
        (f"{URL}/pooling", "rows"),
    ]


def test_a_key_and_a_quote_survive_the_shell() -> None:
    (line,) = curl_lines(URL, {"it's": ("embed",)}, wants_key=True)
    words = shlex.split(line)
    assert "Authorization: Bearer YOUR_KEY" in words
    assert json.loads(words[-1])["model"] == "it's"
