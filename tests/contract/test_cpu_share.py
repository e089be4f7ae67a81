"""vLLM computes with the cores an engine was given, and with its own choice else."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from vllm.utils.cpu_resource_utils import LogicalCPUInfo
from vllm.utils.ompmultiprocessing import OMPProcessManager

from containers.vllm_api.configuration import create_vllm_config
from containers.vllm_api.cpu_share import BINDING, CpuShare

N_CPUS = 6


@pytest.fixture
def config(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A configuration, on a machine of six cores."""
    monkeypatch.delenv(BINDING, raising=False)
    resources = "vllm.utils.cpu_resource_utils"
    cpus = [LogicalCPUInfo(number, number, 0) for number in range(N_CPUS)]
    monkeypatch.setattr(f"{resources}.get_allowed_cpu_list", lambda: cpus)
    monkeypatch.setattr(f"{resources}.get_visible_memory_node", lambda *_: [0])
    arguments = {"enforce_eager": True, "max_model_len": 64}
    return create_vllm_config(
        model=str(tiny_folder), served_model_name=["m"], arguments=arguments
    )


def cores(config: Any) -> list[list[int]]:
    """Cores of each worker, as the engine's process would choose them now."""
    lists: list[list[int]] = OMPProcessManager(config).cpu_lists
    return lists


def test_two_engines_have_cores_of_their_own(config: Any) -> None:
    (alone,) = cores(config)
    taken = []
    for index in range(2):
        with CpuShare(index, 2).taken(config):
            taken += cores(config)
    assert list(chain(*taken)) == alone
    assert BINDING not in os.environ


def test_an_engine_that_is_alone_is_left_to_vllm(config: Any) -> None:
    with CpuShare().taken(config):
        assert BINDING not in os.environ


def test_what_the_environment_says_stays(
    config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BINDING, "4-5")
    with CpuShare(1, 2).taken(config):
        assert cores(config) == [[4, 5]]
    assert os.environ[BINDING] == "4-5"
