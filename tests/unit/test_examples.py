"""Every example is what this release serves, and fails only for want of its model."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from huggingface_hub import constants

from app import cli
from app.quiet import QUIET
from containers import Settings

pytestmark = pytest.mark.heavy

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
ABSENT = "not in the cache: the first start fetches it"
Run = tuple[int, str]

each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and a key for the clients."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("API_KEY", "the-key")
    for name, value in QUIET.items():
        monkeypatch.setenv(name, os.environ.get(name, value))


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    status = cli.main(["check", "--config", str(path), "--set", "server.port=0"])
    return status, capsys.readouterr().out


def test_there_is_one_for_each_use() -> None:
    names = {"lora", "one-gpu-8b", "reasoning", "tensor-parallel", "tool-calling"}
    assert {path.stem for path in EXAMPLES} == {*names, "embeddings", "two-models"}


def test_models_on_one_gpu_share_its_memory() -> None:
    for path in EXAMPLES:
        models = Settings.load(path).models
        shares = [model.engine.get("gpu_memory_utilization", 0.9) for model in models]
        assert sum(shares) < 1, path


@each_example
def test_an_absent_model_is_told_and_is_no_failure(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = check(path, capsys)
    assert status == 0, report
    models = Settings.load(path).models
    for model in models:
        name = f"{model.name}.model" if len(models) > 1 else "model"
        told = rf"^ok +{name} +Hugging Face id, {ABSENT}$"
        assert re.search(told, report, re.MULTILINE)
    assert not re.search("^failed", report, re.MULTILINE)
    adapters = re.findall(rf"^ok +lora\.(\w+) .*{ABSENT}$", report, re.MULTILINE)
    wanted = [module.name for model in models for module in model.lora.modules]
    assert adapters == wanted
    assert "the-key" not in report


@each_example
def test_an_absent_model_is_a_failure_when_it_cannot_be_fetched(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    status, report = check(path, capsys)
    assert status == 1
    assert "not in the cache, and HF_HUB_OFFLINE is set" in report


@each_example
def test_its_parsers_are_vllms(path: Path) -> None:
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    for model in Settings.load(path).models:
        tools, reasoning = model.chat.tool_call_parser, model.chat.reasoning_parser
        assert tools is None or ToolParserManager.get_tool_parser(tools)
        assert reasoning is None or ReasoningParserManager.get_reasoning_parser(
            reasoning
        )


@each_example
def test_nobody_gets_in_without_a_key(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "")
    status, report = check(path, capsys)
    assert status == 1
    assert "set it to what clients send" in report
