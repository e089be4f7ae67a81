"""Relative paths of a command lead to the same files from the config file's folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from app.cli import main
from containers import Settings

COMMAND = shlex.split(
    "vllm serve models/mine --chat-template templates/chat.jinja --enable-lora "
    "--lora-modules one=./adapters/one two=example/two --ssl-certfile tls/c.pem "
    "--ssl-keyfile ../k.pem --uds run.sock --tool-parser-plugin parser.py "
    "--served-model-name m"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "here"
    for folder in ("models/mine", "adapters/one", "templates", "deploy/of-it"):
        (here / folder).mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(here)
    return here


@pytest.mark.parametrize(
    "output",
    [
        "config.yaml",
        "deploy/of-it/config.yaml",
        "../config.yaml",
        "../elsewhere/config.yaml",
    ],
)
def test_from_whatever_folder(here: Path, output: str) -> None:
    assert main(["config", "import", "--output", output, "--", *COMMAND]) == 0
    settings = Settings.load(here / output, environment={})
    (model,), server = settings.models, settings.server

    def place(path: str | None) -> Path:
        assert path is not None
        return Path(path).resolve()

    assert (model.name, place(model.source)) == ("m", here / "models" / "mine")
    assert place(model.chat.template) == here / "templates" / "chat.jinja"
    assert place(model.chat.tool_parser_plugin) == here / "parser.py"
    one, two = model.lora.modules
    assert (place(one.path), two.path) == (here / "adapters" / "one", "example/two")
    assert place(server.ssl_certfile) == here / "tls" / "c.pem"
    assert place(server.ssl_keyfile) == here.parent / "k.pem"
    assert place(server.uds) == here / "run.sock"


def test_an_absolute_path_and_a_name_stay(here: Path) -> None:
    words = [
        "serve",
        "org/m",
        "--chat-template",
        "tool_use",
        "--ssl-certfile",
        "/c.pem",
    ]
    output = "deploy/config.yaml"
    assert main(["config", "import", "--output", output, "--", "vllm", *words]) == 0
    text = (here / output).read_text()
    assert "source: org/m" in text
    assert "template: tool_use" in text
    assert "ssl_certfile: /c.pem" in text


def test_an_adapter_that_is_not_here_is_kept(here: Path) -> None:
    words = ["vllm", "serve", "m", "--enable-lora", "--lora-modules", "one=/absent/one"]
    assert main(["config", "import", "--output", "x.yaml", "--", *words]) == 0
    assert "path: /absent/one" in (here / "x.yaml").read_text()
