"""What `make fuzz-api` changes in the requests it sends: their length alone."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from tools.api_fuzz.__main__ import by_status


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hooks; schemathesis, which has an environment of its own, stands aside."""
    stand_in = types.ModuleType("schemathesis")
    stand_in.hook = lambda function: function  # type: ignore[attr-defined]  # a stand-in
    monkeypatch.setitem(sys.modules, "schemathesis", stand_in)
    monkeypatch.delenv("API_FUZZ_COUNTS", raising=False)
    from tools.api_fuzz import hooks

    return hooks


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ({"max_tokens": 9000, "n": 50}, {"max_tokens": 4, "n": 2}),
        ({"max_tokens": 3}, {"max_tokens": 3}),
        ({"max_tokens": "x", "n": True}, {"max_tokens": "x", "n": True}),
        ({"n": -7}, {"n": -7, "max_tokens": 4}),
        ({"max_tokens": None}, {"max_tokens": 4}),
        ({"items": [{"n": 9.5}]}, {"items": [{"n": 2}], "max_tokens": 4}),
        ([{"n": 9}], [{"n": 9}]),
        (b"{", b"{"),
        (None, None),
    ],
)
def test_requests_ask_for_few_tokens(hooks: Any, body: Any, sent: Any) -> None:
    assert hooks.shortened(body, ("max_tokens",)) == sent


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ({"sampling_params": {}}, {"sampling_params": {"max_tokens": 4}}),
        ({"sampling_params": 5}, {"sampling_params": 5}),
        ({}, {}),
    ],
)
def test_the_length_can_lie_deeper(hooks: Any, body: Any, sent: Any) -> None:
    assert hooks.shortened(body, ("sampling_params", "max_tokens")) == sent


def test_statuses_are_counted_over_all_routes() -> None:
    counts = {"POST /a 200": 2, "GET /b/{id} 200": 1, "POST /a 400": 3}
    assert by_status(counts) == {200: 3, 400: 3}  # type: ignore[arg-type]  # as a Counter
