"""Engines on one CPU share its cores out."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

from containers import ApplicationContainer, ModelSettings, Settings
from containers.vllm_api.cpu_share import CpuShare


def bindings(cpu_lists: list[list[int]], reserved: list[int], n: int) -> list[str]:
    """What each of ``n`` engines is told, where vLLM alone would take these cores."""
    manager: Any = SimpleNamespace(cpu_lists=cpu_lists, reserved_cpu_list=reserved)
    return [CpuShare(index, n).binding(manager) for index in range(n)]


@pytest.mark.parametrize(
    ("cpus", "reserved", "n", "told"),
    [
        ([0], [1], 2, ["0", "1"]),
        ([0, 1], [2], 2, ["0", "1"]),
        ([0, 1, 2], [3], 2, ["0,1", "2"]),
        ([0, 2, 4, 6, 8, 10, 12], [14], 2, ["0,2,4,6", "8,10,12"]),
        ([0, 1, 2, 3, 4, 5, 6], [7], 3, ["0,1,2", "3,4", "5,6"]),
        ([0], [1], 3, ["0", "1", "0"]),
        ([0], [], 2, ["0", "0"]),
    ],
)
def test_cores_are_shared_out(
    cpus: list[int], reserved: list[int], n: int, told: list[str]
) -> None:
    assert bindings([cpus], reserved, n) == told


@pytest.mark.parametrize("n_cpus", range(1, 20))
@pytest.mark.parametrize("n", range(1, 6))
def test_no_core_is_twice_or_nobodys_where_there_are_enough(
    n_cpus: int, n: int
) -> None:
    cpus = list(range(n_cpus))
    shares = [list(CpuShare(index, n).part_of(cpus)) for index in range(n)]
    assert all(shares)
    if n_cpus >= n:
        assert list(chain(*shares)) == cpus
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_each_worker_of_an_engine_has_a_share_of_its_own_node() -> None:
    assert bindings([[0, 1, 2, 3], [4, 5, 6]], [7], 2) == ["0,1|4,5", "2,3|6"]


def test_the_application_tells_every_engine_its_place() -> None:
    entries = [ModelSettings(name=name, source="a/b") for name in "abc"]
    models = ApplicationContainer(settings=Settings(models=entries)).models()
    shares = [container.cpu_share() for container in models.values()]
    assert shares == [CpuShare(index, 3) for index in range(3)]
