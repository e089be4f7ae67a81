"""The memory models may take together."""

from __future__ import annotations

from typing import Any

import pytest

from containers.errors import SettingsError
from containers.settings import Settings


def made(*models: dict[str, Any], budget_gib: float | None = 2.0) -> Settings:
    named = [
        {"name": f"m{index}", "source": "somewhere", **model}
        for index, model in enumerate(models)
    ]
    server = {"memory_budget_gib": budget_gib}
    return Settings.model_validate({"server": server, "models": named})


def test_without_a_budget_nothing_is_asked() -> None:
    assert made({}, {"memory_gib": 100.0}, budget_gib=None)


def test_every_model_says_what_it_takes() -> None:
    with pytest.raises(SettingsError, match=r"models\.1\.memory_gib: is missing"):
        made({"memory_gib": 1.0}, {})


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([{"memory_gib": 3.0, "load": "lazy"}], "is more than"),
        ([{"memory_gib": 1.5}, {"memory_gib": 1.0}], "loaded with the server"),
        ([{"memory_gib": 1.5, "pinned": True, "load": "lazy"}] * 2, "that are pinned"),
    ],
)
def test_what_can_never_fit_is_told(models: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        made(*models)


def test_lazy_models_may_be_more_than_fit_at_once() -> None:
    assert made(*[{"memory_gib": 1.5, "load": "lazy"}] * 5)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"pinned": True, "idle_timeout_s": 1.0}, "contradicts pinned"),
        ({"idle_action": "sleep"}, "enable_sleep_mode"),
        ({"load": "later"}, "load"),
        ({"idle_timeout_s": 0.0}, "idle_timeout_s"),
    ],
)
def test_what_contradicts_itself_is_told(model: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        made(model, budget_gib=None)
