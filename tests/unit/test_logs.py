"""What the command sets up for vLLM's logging, and when it leaves that alone."""

from __future__ import annotations

import json
import logging
import logging.config
import os
from pathlib import Path
from typing import Any

import pytest

from app.logs import COMMAND, VLLM_CONFIG, VLLM_LEVEL, are_ours, logs
from containers import ModelSettings
from containers.settings.server.observing import LogSettings

pytestmark = pytest.mark.usefixtures("logging_put_back")


def configured() -> Any:
    return json.loads(Path(os.environ[VLLM_CONFIG]).read_text())


def test_vllm_is_given_a_configuration_that_works_and_then_nothing() -> None:
    with logs(LogSettings(format="json", levels={"vllm": "info"})) as form:
        assert form == "json"
        assert are_ours()
        config = configured()
        logging.config.dictConfig(config)
        assert logging.getLogger("vllm").level == logging.INFO
        assert os.environ[VLLM_LEVEL] == "INFO"
    assert VLLM_CONFIG not in os.environ


def test_levels_are_set_by_name() -> None:
    settings = LogSettings(
        level="warning", levels={"app": "debug", "some.thing": "info"}
    )
    with logs(settings):
        shown = {name: logging.getLogger(name).level for name in ("app", "some.thing")}
        assert shown == {"app": logging.DEBUG, "some.thing": logging.INFO}
        assert logging.getLogger("containers").level == logging.WARNING
        assert logging.getLogger(COMMAND).isEnabledFor(logging.INFO), "ready: URL"
        assert configured()["loggers"]["vllm"]["level"] == "ERROR"


def test_who_says_how_vllm_logs_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    with logs(LogSettings()):
        assert VLLM_CONFIG not in os.environ
    monkeypatch.setenv(VLLM_CONFIG, "mine.json")
    with logs(LogSettings()):
        assert os.environ[VLLM_CONFIG] == "mine.json"


@pytest.mark.parametrize(
    ("engine", "is_set"),
    [
        ({}, True),
        ({"distributed_executor_backend": "mp"}, True),
        ({"distributed_executor_backend": "ray"}, False),
        ({"data_parallel_backend": "ray"}, False),
        ({"nnodes": 2}, False),
    ],
)
def test_other_machines_are_told_of_no_file_of_this_one(
    engine: dict[str, Any], is_set: bool
) -> None:
    model = ModelSettings(name="m", source="m", engine=engine)
    with logs(LogSettings(), [model]):
        assert (VLLM_CONFIG in os.environ) is is_set
