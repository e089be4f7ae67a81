"""A process whose settings are changed: by a signal, and by an edit of its files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from containers.testing import tiny_model

TEMPLATE = "{{% for m in messages %}}{mark}{{{{ m.content }}}}{{% endfor %}}"
QUESTION = {"messages": [{"role": "user", "content": "Where?"}], "max_tokens": 64}


class Process:
    """The program, its config file and what it prints."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config.yaml"
        self.template = folder / "chat.jinja"
        self.source = str(tiny_model(folder / "model"))
        self.template.write_text(TEMPLATE.format(mark="0"))
        self.write()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.http.reload_program", str(self.file)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.line("ready ").removeprefix("ready ")

    def write(self, **server: object) -> None:
        model = {
            "name": "tiny",
            "source": self.source,
            "engine": {"enforce_eager": True},
            "chat": {"template": str(self.template)},
        }
        content = {"server": {"port": 0, **server}, "models": [model]}
        self.file.write_text(json.dumps(content))

    def line(self, beginning: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.strip()
        raise AssertionError(f"it never said {beginning!r}")

    def said(self) -> str:
        url = f"{self.url}/v1/chat/completions"
        answer = httpx.post(url, json=QUESTION)
        text: str = answer.json()["choices"][0]["message"]["content"]
        return text


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    started = Process(tmp_path)
    try:
        yield started
    finally:
        started.process.send_signal(signal.SIGTERM)
        assert started.process.wait(20) == 0
        assert started.process.stdout is not None
        started.process.stdout.close()


def test_a_signal_and_an_edit_change_it(process: Process) -> None:
    answers = [process.said()]
    process.template.write_text(TEMPLATE.format(mark="1"))
    process.process.send_signal(signal.SIGHUP)
    assert process.line("reloaded: ") == "reloaded: 1 models have changed"
    answers.append(process.said())

    process.file.write_text("models: [{name: tiny, sauce: x}]")
    process.process.send_signal(signal.SIGHUP)
    assert "models.0.source" in process.line("everything stays as it was: ")
    assert process.said() == answers[-1]

    process.write(reload_on_change=True)
    process.process.send_signal(signal.SIGHUP)
    process.line("reloaded: ")
    process.template.write_text(TEMPLATE.format(mark="22"))
    assert process.template.name in process.line(str(process.template))
    process.line("reloaded: ")
    answers.append(process.said())
    assert len(set(answers)) == 3
