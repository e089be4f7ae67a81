"""``vllm-di config show``: every value, where it came from, and no secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from app.cli import main
from containers.settings import Settings
from containers.settings.show import shown

TEXT = """server:
  api_keys: [hunter2, "${K}"]
  port: ${P:-9000}
models:
- name: m
  source: org/m
  engine: {max_model_len: 5, hf_token: hunter2, compilation_config: {mode: 0}}
  chat:
    template: "${a}\\n{{ b }}"
    reasoning_parser: qwen3
"""

Show = Callable[..., dict[str, str]]


@pytest.fixture
def show(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Show:
    """Runs the command and gives each line's comment by its text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("K", "hunter2-too")
    Path("config.yaml").write_text(TEXT)

    def show(*options: str) -> dict[str, str]:
        assert main(["config", "show", *options]) == 0
        printed = capsys.readouterr().out
        assert "hunter2" not in printed
        lines = (line.partition("  # ") for line in printed.splitlines())
        return {text.strip(" -"): comment for text, _, comment in lines}

    return show


def test_every_value_has_its_origin(show: Show) -> None:
    lines = show("--set", "server.host=h")
    assert lines["port: 9000"] == "config.yaml:3"
    assert lines["host: h"] == "--set"
    assert lines["drain_timeout_s: 30.0"] == "default"
    assert lines["name: m"] == "config.yaml:5"
    assert lines["max_model_len: 5"] == "config.yaml:7"
    assert lines["mode: 0"] == "config.yaml:7"
    assert lines['template: "${a}\\n{{ b }}"'] == "config.yaml:9"
    assert lines["api_keys: ['**********', '**********']"] == "config.yaml:2, ${K}"
    assert lines["hf_token: '**********'"] == "config.yaml:7"
    assert lines["reasoning_parser: qwen3"] == "config.yaml:10"


def test_variables_are_named(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("P", "8")
    monkeypatch.setenv("VLLM_DI__SERVER__HOST", "there")
    lines = show()
    assert lines["port: 8"] == "config.yaml:3, ${P}"
    assert lines["host: there"] == "VLLM_DI__SERVER__HOST"


def test_an_env_file_counts_when_asked_for(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("P", "8")
    monkeypatch.delenv("P")
    Path(".env").write_text("P=7\nK=not this one\n")
    assert show()["port: 9000"] == "config.yaml:3"
    assert show("--env-file", ".env")["port: 7"] == "config.yaml:3, ${P}"


def test_later_files_win(show: Show) -> None:
    Path("two.yaml").write_text("server: {port: 1}\n")
    lines = show("--config", "config.yaml", "--config", "two.yaml")
    assert lines["port: 1"] == "two.yaml:1"


def test_what_is_shown_is_yaml_that_means_the_same() -> None:
    settings = Settings.model_validate(
        {
            "server": {"allowed_origins": ["a", "b: c"], "root_path": "/x"},
            "models": [
                {
                    "names": ["m", "n"],
                    "source": "s",
                    "engine": {"enable_lora": True, "seed": 3},
                    "lora": {"modules": [{"name": "x", "path": "p"}]},
                    "chat": {
                        "template": "{% x %}\n  # no comment\n",
                        "default_chat_template_kwargs": {"a b": {"c": [1]}},
                    },
                    "canary": {"interval_s": 5.0},
                }
            ],
        }
    )
    assert Settings.model_validate(yaml.safe_load(shown(settings))) == settings


def test_effective_values_stand_beside_those_that_were_set() -> None:
    settings = Settings.model_validate(
        {
            "models": [
                {"name": "m", "source": "s", "engine": {"dtype": "auto", "seed": 0}}
            ]
        }
    )
    text = shown(settings, [{"dtype": "float32", "seed": 0, "max_model_len": 7}])
    lines = [line.split("#") for line in text.splitlines()]
    comments = {line[0].strip(): line[-1].strip() for line in lines}
    assert comments["dtype: auto"] == "default; vLLM: float32"
    assert comments["seed: 0"] == "default"
    assert comments["max_model_len: 7"] == "vLLM"
