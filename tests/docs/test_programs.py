"""Every Python block of the documents is run, and does what the text around it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from containers import ModelContainer
from containers.errors import NotReadyError
from containers.graph import Graph
from tests.docs.conftest import ANSWER
from tests.docs.documents import block, blocks

pytestmark = pytest.mark.usefixtures("folder")

Printed = Callable[[], str]
OWN_APP = "README.md#In an app of your own"
WITHOUT_HTTP = "README.md#Without HTTP"
IN_TESTS = "README.md#In tests"
PICTURES = "docs/graph.md#The graph of one model"
LIFESPAN = "docs/embedding.md#Your app, your lifespan"
ERROR_SHAPE = "docs/embedding.md#OpenAI's error shape for your routes"
WORKER = "docs/embedding.md#A worker whose constructor runs inside the loop"
PART = "docs/embedding.md#A part of the graph"
OVERRIDE = "docs/embedding.md#Another part in its place"
WIRED = "docs/wiring.md#Example"

PLACES = {
    OWN_APP,
    WITHOUT_HTTP,
    IN_TESTS,
    PICTURES,
    LIFESPAN,
    ERROR_SHAPE,
    WORKER,
    PART,
    OVERRIDE,
    WIRED,
}


def run(place: str) -> dict[str, Any]:
    """Run the one Python block of a place and return its names."""
    return block("python", place).run()


def test_no_python_block_is_left_out() -> None:
    assert {each.place for each in blocks("python")} == PLACES


def test_a_route_of_ones_own_receives_what_it_asks_for() -> None:
    with TestClient(run(OWN_APP)["app"]) as client:
        assert client.get("/capital/France").json() == ANSWER
        assert client.get("/llm/v1/models").is_success


def test_without_http_the_answer_is_printed(printed: Printed) -> None:
    run(WITHOUT_HTTP)
    assert printed() == f"{ANSWER}\n"
    assert f"# {ANSWER}\n" in block("python", WITHOUT_HTTP).text


def test_the_test_of_the_readme_passes(tmp_path: Path) -> None:
    run(IN_TESTS)["test_the_answer_and_the_prompt_behind_it"](tmp_path)


def test_the_pictures_are_printed(printed: Printed) -> None:
    run(PICTURES)
    graph = Graph.of(ModelContainer())
    assert printed() == f"{graph.text()}\n{graph.mermaid()}\n"


def test_the_hosts_lifespan_finds_the_models_loaded() -> None:
    names = run(LIFESPAN)
    with TestClient(names["app"]) as client:
        tokenizer = names["application"].registry().default.tokenizer
        assert client.get("/vocabulary").json() == len(tokenizer.get_vocab())


def test_a_route_may_have_openais_error_shape() -> None:
    with TestClient(run(ERROR_SHAPE)["app"]) as client:
        assert client.post("/summary?text=x").json() == ANSWER
        refused = client.post("/summary", params={"text": "word " * 600})
        assert refused.status_code == 400
        assert "512" in refused.json()["error"]["message"]


def test_a_worker_starts_inside_the_loop_and_stops(printed: Printed) -> None:
    names = run(WORKER)
    assert printed() == f"{ANSWER}\n"

    async def start_and_close() -> Any:
        worker = names["Worker"]()
        await worker.ask("What?")
        await worker.close()
        return worker._container

    with pytest.raises(NotReadyError):
        asyncio.run(start_and_close()).engine()


def test_a_part_of_the_graph_needs_no_engine(
    printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(
        "containers.testing.FakeEngine.__init__", lambda *_: started.append("engine")
    )
    run(PART)
    origin, n_tokens = printed().split()
    assert (origin, int(n_tokens) > 0, started) == ("tokenizer", True, [])


def test_a_template_can_be_replaced(printed: Printed) -> None:
    run(OVERRIDE)
    assert printed() == "[Hello!]\n"
    assert "# [Hello!]\n" in block("python", OVERRIDE).text


@contextmanager
def wired(folder: Path) -> Iterator[dict[str, Any]]:
    """The names of the wired app, its module of routes written to a file first."""
    module, app = (each for each in blocks("python") if each.place == WIRED)
    name = module.text.partition("\n")[0].removeprefix("# ")
    (folder / name).write_text(module.text)
    names = app.run()
    try:
        yield names
    finally:
        names["container"].unwire()


def test_wired_functions_receive_loaded_objects(folder: Path) -> None:
    with wired(folder) as names, TestClient(names["app"]) as client:
        assert client.get("/capital/France").json() == ANSWER
        assert names["own_routes"].n_tokens("hello") > 0


def test_wired_functions_start_nothing(folder: Path) -> None:
    with wired(folder) as names:
        app: FastAPI = names["app"]
        with pytest.raises(NotReadyError):
            names["own_routes"].n_tokens("hello")
        assert TestClient(app).get("/capital/France").status_code == 503
