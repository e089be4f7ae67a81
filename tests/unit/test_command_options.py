"""How quiet vLLM and torch are, and who decides it."""

from __future__ import annotations

import os

import pytest

from app.commands.options import QUIET, be_quiet


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in QUIET:
        monkeypatch.setenv(name, "")  # so that it is as it was after the test
        monkeypatch.delenv(name)


def test_errors_alone_are_logged_by_default() -> None:
    be_quiet()
    assert {name: os.environ[name] for name in QUIET} == QUIET
    assert os.environ["VLLM_LOGGING_LEVEL"] == "ERROR"


def test_a_command_may_be_quieter() -> None:
    be_quiet(VLLM_LOGGING_LEVEL="CRITICAL")
    assert os.environ["VLLM_LOGGING_LEVEL"] == "CRITICAL"


def test_what_the_environment_asks_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    be_quiet(VLLM_LOGGING_LEVEL="CRITICAL")
    assert os.environ["VLLM_LOGGING_LEVEL"] == "DEBUG"
