"""An engine core has its tokenizer when vLLM asks for it, its workers started first."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from containers.testing import tiny_model
from containers.vllm_api import tokenizer_ahead
from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.tokenizer_ahead import TokenizerAhead, attach_tokenizer_ahead

pytestmark = pytest.mark.heavy

THREAD = "vllm-di tokenizer ahead"
WITHIN_S = 30.0


@pytest.fixture
def vllm_config(tmp_path: Path) -> Any:
    model = str(tiny_model(tmp_path))
    made = create_vllm_config(model=model, served_model_name=["tiny"], arguments={})
    attach_tokenizer_ahead(made)
    return made


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Workers of this process, as multiprocessing tells them."""
    started: list[str] = []
    monkeypatch.setattr(multiprocessing, "active_children", lambda: started)
    return started


@pytest.fixture
def as_engine_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(multiprocessing.current_process(), "name", "EngineCore_DP0")
    yield
    for thread in loading():
        thread.join(WITHIN_S)


def loading() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == THREAD]


def travelled(vllm_config: Any) -> Any:
    return pickle.loads(pickle.dumps(vllm_config))  # noqa: S301  # ours


@pytest.mark.usefixtures("as_engine_core")
def test_vllm_finds_loaded_what_it_asks_for(
    vllm_config: Any, workers: list[str]
) -> None:
    asked = import_module("vllm.v1.structured_output").cached_tokenizer_from_config
    kept = import_module("vllm.tokenizers.registry").cached_get_tokenizer
    arrived = travelled(vllm_config)
    (thread,) = loading()
    workers.append("VllmWorker-0")
    thread.join(WITHIN_S)
    n_loads = kept.cache_info().misses
    assert asked(model_config=arrived.model_config).encode("a")
    assert kept.cache_info().misses == n_loads
    assert isinstance(arrived.vllm_di_tokenizer_ahead, TokenizerAhead)


@pytest.mark.usefixtures("as_engine_core")
def test_workers_are_started_first(
    vllm_config: Any, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = import_module("vllm.tokenizers.registry").cached_get_tokenizer
    n_loads = kept.cache_info().misses
    monkeypatch.setattr(tokenizer_ahead, "GIVE_UP_S", 0.05)
    travelled(vllm_config)
    for thread in loading():
        thread.join(WITHIN_S)
    assert workers == []
    assert kept.cache_info().misses == n_loads


@pytest.mark.usefixtures("as_engine_core")
def test_a_tokenizer_that_does_not_load_is_vllms_to_tell_of(workers: list[str]) -> None:
    workers.append("VllmWorker-0")
    config = SimpleNamespace(skip_tokenizer_init=False, trust_remote_code=False)
    whole = SimpleNamespace(model_config=config)
    attach_tokenizer_ahead(whole)
    travelled(whole)
    for thread in loading():
        thread.join(WITHIN_S)
    assert loading() == []


@pytest.mark.usefixtures("as_engine_core", "workers")
def test_a_copy_has_not_travelled(vllm_config: Any) -> None:
    ahead = vllm_config.vllm_di_tokenizer_ahead
    assert copy.deepcopy(ahead) is ahead
    assert loading() == []


@pytest.mark.usefixtures("workers")
def test_nothing_is_loaded_in_any_other_process(vllm_config: Any) -> None:
    travelled(vllm_config)
    assert loading() == []


@pytest.mark.parametrize("setting", ["skip_tokenizer_init", "trust_remote_code"])
def test_none_and_code_of_the_models_own_are_left_to_vllm(setting: str) -> None:
    names = ("skip_tokenizer_init", "trust_remote_code")
    config = SimpleNamespace(**{name: name == setting for name in names})
    whole = SimpleNamespace(model_config=config)
    attach_tokenizer_ahead(whole)
    assert not hasattr(whole, "vllm_di_tokenizer_ahead")
