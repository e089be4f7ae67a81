"""What every test may ask for."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

# A test run tells nobody, and asks no model hub.
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

# Where tests run in the background Ctrl-C is ignored, and so by what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from dependency_injector.containers import Container
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from containers import ModelContainer, ModelSettings
from containers.testing import tiny_model
from tests.performance import turn_off
from tests.tiers import FOLDERS, leaves_out, wrongly_read

# How fast examples are made says how busy the machine is, and nothing about the code.
settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

# vLLM's log handler writes where the test that imported vLLM was captured.
logging.raiseExceptions = False

MODEL = "tiny"
ENGINE_TIMEOUT_S = 600
"""Seconds of a test that starts engines, which a new machine reads from its disk."""
SHARING_SERVERS = {"test_chat", "test_equal_answers", "test_process", "test_two_models"}
"""Modules of the engine tier whose servers are the same, and so run in one process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run do without what makes it faster."""
    text = "off: with all that `performance` offers turned off"
    parser.addoption("--performance", choices=("on", "off"), default="on", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Turn it off before any test's settings are made."""
    if config.getoption("--performance") == "off":
        turn_off()


def pytest_ignore_collect(
    collection_path: Path, config: pytest.Config
) -> Literal[True] | None:
    """Import no tests that ``-m`` leaves out."""
    if not (collection_path.is_dir() or collection_path.match("test_*.py")):
        return None
    return leaves_out(config.option.markexpr, collection_path) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests into the tiers of their folders, and lose none that was misread."""
    for item in items:
        for marker in FOLDERS.get(item.path.parent.name, ()):
            item.add_marker(marker)
        if item.get_closest_marker("engine") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(ENGINE_TIMEOUT_S))
        wrong = wrongly_read(item.path, (each.name for each in item.iter_markers()))
        if wrong:
            raise pytest.UsageError(
                f"{item.nodeid}: write out mark.{' and mark.'.join(wrong)} in its file"
            )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget what vLLM has set in this process: another would take it for a wish."""
    if os.environ.get("VLLM_WORKER_MULTIPROC_METHOD") == "spawn":
        del os.environ["VLLM_WORKER_MULTIPROC_METHOD"]


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with a tokenizer and a chat template, without weights."""
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def model_settings(tiny_folder: Path) -> ModelSettings:
    """Settings of the tiny model."""
    return tiny_settings(tiny_folder)


@pytest.fixture
def new_container(model_settings: ModelSettings) -> Callable[[], Container]:
    """Makes containers of the tiny model; override the engine before starting one."""
    return lambda: ModelContainer(settings=model_settings)


def tiny_settings(folder: Path, **chat: object) -> ModelSettings:
    """Settings of a model folder made by ``tiny_model``."""
    return ModelSettings.model_validate(
        {
            "name": MODEL,
            "source": str(folder),
            "engine": {"max_model_len": 256, "enforce_eager": True},
            "chat": chat,
        }
    )


class ByServers(LoadScopeScheduling):
    """Gives a process of xdist whole modules, and one process all that share servers.

    xdist's own ``loadgroup`` writes groups where pytest 9.2 reads none.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return "servers" if Path(module).stem in SHARING_SERVERS else module


def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Any
) -> LoadScopeScheduling | None:
    """Share the engine tier out by servers; any other as the option says."""
    by_servers = config.getvalue("dist") == "loadgroup"
    return ByServers(config, log) if by_servers else None
