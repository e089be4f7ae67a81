"""What a configuration answers from memory is what vLLM works out."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from containers import ModelSettings
from containers.vllm_api.client import EngineView
from containers.vllm_api.remembered import Known, remember

pytestmark = pytest.mark.heavy

ASKED_OF_MODEL = ("try_get_generation_config", "get_diff_sampling_param")


@pytest.fixture
def vllm_config(tiny_folder: Path) -> Any:
    """A configuration of its own, with a sampling parameter."""
    from containers.resources import vllm_config

    engine = {"enforce_eager": True, "override_generation_config": {"top_k": 7}}
    settings = ModelSettings.model_validate(
        {"name": "tiny", "source": str(tiny_folder), "engine": engine}
    )
    return vllm_config(settings=settings, model=str(tiny_folder))


def test_it_answers_as_before(vllm_config: Any) -> None:
    model = vllm_config.model_config
    before = vllm_config.compute_hash(), *(getattr(model, n)() for n in ASKED_OF_MODEL)
    remember(vllm_config)
    after = vllm_config.compute_hash(), *(getattr(model, n)() for n in ASKED_OF_MODEL)
    assert after == before
    assert after[2]["top_k"] == 7


def test_it_does_not_work_it_out_again(
    vllm_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    EngineView(None, renderer=None, vllm_config=vllm_config)

    def worked_out(_: Any) -> None:
        pytest.fail("it was worked out again")

    monkeypatch.setattr(type(vllm_config), "compute_hash", worked_out)
    monkeypatch.setattr(type(vllm_config.model_config), ASKED_OF_MODEL[0], worked_out)
    EngineView(None, renderer=None, vllm_config=vllm_config)
    assert vllm_config.compute_hash()
    assert vllm_config.model_config.get_diff_sampling_param()["top_k"] == 7


def test_who_changes_an_answer_changes_nobody_elses(vllm_config: Any) -> None:
    remember(vllm_config)
    vllm_config.model_config.get_diff_sampling_param()["top_k"] = 1
    assert vllm_config.model_config.get_diff_sampling_param()["top_k"] == 7


def test_another_question_gets_its_own_answer(vllm_config: Any) -> None:
    alone = vllm_config.compute_hash(include_version=False)
    remember(vllm_config)
    assert vllm_config.compute_hash(include_version=False) == alone
    assert vllm_config.compute_hash() != alone


def test_it_travels(vllm_config: Any) -> None:
    remember(vllm_config)
    arrived = pickle.loads(pickle.dumps(vllm_config))  # noqa: S301  # our own
    assert arrived.compute_hash() == vllm_config.compute_hash()
    assert arrived.compute_hash._config is arrived


def test_what_cannot_be_answered_is_left_to_those_who_ask() -> None:
    class Config:
        model_config = None

        def compute_hash(self) -> str:
            raise RuntimeError("no hash")

    config = Config()
    remember(config)
    assert not isinstance(config.compute_hash, Known)
    with pytest.raises(RuntimeError, match="no hash"):
        config.compute_hash()
