"""``vllm-di graph``, and the start-up record it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from dependency_injector.containers import Container

from app import cli
from app.timings import read_timings, save_timings, write_timings
from containers import ModelContainer, running
from containers.errors import SettingsError
from containers.graph import Graph, Span
from containers.testing import FakeEngine

pytestmark = pytest.mark.heavy

CONFIG = Path(__file__).parents[2] / "config.yaml"


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A start-up record of two resources."""
    path = tmp_path / "start.json"
    entries = [
        {"name": "model", "begin_s": 0.0, "seconds": 1.0},
        {"name": "engine", "begin_s": 1.0, "seconds": 3.0},
        {"name": "gone", "begin_s": 4.0, "seconds": 5.0},
    ]
    path.write_text(json.dumps({"format": 1, "models": {"smollm2": entries}}))
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert cli.main(["graph", *map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "mermaid", "dot", "svg"])
def test_it_prints_the_graph_as_it_is_declared(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = getattr(Graph.of(ModelContainer()), form)()
    assert printed(capsys, "--format", form) == f"{picture}\n"


def test_text_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == printed(capsys, "--format", "text")


def test_it_takes_a_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert "serving_chat" in printed(capsys, "--config", CONFIG)


def test_it_adds_the_times_of_a_start(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for config in ([], ["--config", CONFIG]):
        text = printed(capsys, *config, "--timings", record)
        assert re.search(r"engine +3\.00 s  .*settings=settings", text)
        assert "start-up: 4.00 s" in text
        assert "gone" not in text


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"models": 3}',
        '{"models": {"m": [{}]}}',
        '{"models": {"m": [3]}}',
    ],
)
def test_what_is_no_record_is_refused(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "start.json"
    path.write_text(content)
    assert cli.main(["graph", "--timings", str(path)]) == 2
    assert "is no start-up record. Write one with" in capsys.readouterr().err


def test_a_record_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_timings(tmp_path / "absent.json")


async def test_a_record_holds_every_resource_of_a_start(
    new_container: Callable[[], Container], tmp_path: Path
) -> None:
    container = new_container()
    container.engine.override(FakeEngine("Paris."))
    path = tmp_path / "start.json"
    async with running(container):
        write_timings(path, {"tiny": container})
    spans = read_timings(path)["tiny"]
    not_needed = {"engine_core", "engine_processes"}  # by a double of the engine
    assert set(spans) == set(Graph.of(container).resources) - not_needed
    assert min(span.begin_s for span in spans.values()) == 0
    for name, span in spans.items():
        needed = Graph.of(container).resources_under(name)
        assert all(spans[other].end_s <= span.begin_s + 0.02 for other in needed)
    assert not path.with_name("start.json.partial").exists()  # short


def test_resources_that_were_not_loaded_have_no_times(tmp_path: Path) -> None:
    path = tmp_path / "start.json"
    entries = [
        {"name": "model", "begin_s": 0.0, "seconds": 1.0},
        {"name": "engine", "begin_s": None, "seconds": None},
    ]
    path.write_text(json.dumps({"models": {"m": entries}}))
    assert read_timings(path) == {"m": {"model": Span(0.0, 1.0)}}


def test_a_record_that_cannot_be_written_is_told_and_ends_nothing(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    save_timings(tmp_path / "absent" / "start.json", {}, said.append)
    assert len(said) == 1
    assert said[0].endswith("cannot be written: No such file or directory")


@pytest.mark.parametrize("name", ["absent/start.json", "."])
def test_serve_refuses_a_place_for_the_record_before_it_starts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["serve", "--timings", str(tmp_path / name)])
    assert caught.value.code == 2
    assert "is not a file in an existing folder" in capsys.readouterr().err
