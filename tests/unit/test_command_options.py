"""How quiet vLLM and torch are, and who decides it."""

from __future__ import annotations

import logging
import os

import pytest

from app.quiet import QUIET, be_quiet


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


@pytest.mark.parametrize("asked", ["", "DEBUG", "nonsense"])
def test_what_vllm_logs_before_it_reads_the_level_follows_it_too(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    if asked:
        monkeypatch.setenv("VLLM_LOGGING_LEVEL", asked)
    logger = logging.getLogger("vllm")
    monkeypatch.setattr(logger, "level", logging.WARNING)
    be_quiet(VLLM_LOGGING_LEVEL="CRITICAL")
    wanted = {"": logging.CRITICAL, "DEBUG": logging.DEBUG}
    assert logger.level == wanted.get(asked, logging.WARNING)


def test_what_the_environment_asks_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    be_quiet(VLLM_LOGGING_LEVEL="CRITICAL")
    assert os.environ["VLLM_LOGGING_LEVEL"] == "DEBUG"
