"""How soon front ends are replaced that fail again and again."""

from __future__ import annotations

import pytest

from app.frontends.patience import CALM_S, LONGEST_PAUSE_S, Patience
from containers.vllm_api.sharing import SPARE


def replaced_at(n_front_ends: int, n_replacements: int, life_s: float) -> list[float]:
    """Seconds at which front ends are replaced that each live so long."""
    patience = Patience()
    ends = [life_s] * n_front_ends
    replaced = []
    for _ in range(n_replacements):
        now = min(ends)
        ends.remove(now)
        replaced.append(now + patience.pause_s(now))
        ends.append(replaced[-1] + life_s)
    return replaced


@pytest.mark.parametrize("n_front_ends", [1, 7, 63])
@pytest.mark.parametrize("life_s", [0.0, 10.0, LONGEST_PAUSE_S])
def test_a_lasting_fault_takes_over_an_hour_for_all_places(
    n_front_ends: int, life_s: float
) -> None:
    assert replaced_at(n_front_ends, SPARE, life_s)[-1] > 3600


def test_one_death_now_and_then_costs_a_second() -> None:
    patience = Patience()
    now = 0.0
    for _ in range(20):
        now += CALM_S + 2
        assert patience.pause_s(now) == 1.0


def test_those_that_die_together_are_back_one_after_the_other() -> None:
    patience = Patience()
    assert [patience.pause_s(100.0) for _ in range(4)] == [1.0, 3.0, 7.0, 15.0]
