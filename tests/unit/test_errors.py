"""Errors cross processes whole."""

from __future__ import annotations

import pickle

import pytest

from containers.errors import (
    InjectionError,
    NotReadyError,
    ServingError,
    SettingsError,
    StartError,
    StopError,
)

ERRORS = [
    SettingsError(reason="unknown key", key="a.b", file="c.yaml", line=3, hint="Drop."),
    NotReadyError(provider="engine", state="not started", hint="Start it."),
    StartError(resource="engine", path=["chat", "engine"], reason="no", hint="Mend."),
    StopError([ValueError("stuck")]),
    InjectionError(owner="C", argument="t", expected="a", found="b", hint="Build it."),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_survives_pickling(error: ServingError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # ours
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()
