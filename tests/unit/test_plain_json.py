"""A response model's JSON, written by pydantic, against that of ``json``."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, SerializeAsAny, model_serializer

from app.json_response import JsonAnswer
from app.plain_json import plain_json

TEXTS = st.text() | st.sampled_from(
    ['"\\/\b\f\n\r\t', "\x00\x1f\x7f\u2028\ud800", "ü☃𝄞"]
)
WHOLE = st.integers() | st.integers(min_value=2**63)
FLOATS = st.floats() | st.sampled_from([1e-05, 1e16, 1e22, -0.0, 1.5])


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Detail(Open):
    text: str | None = None
    n: int | None = None


class More(Detail):
    share: float = 0.00001


class Sparse(Open):
    text: str | None = None
    calls: list[Detail] = []

    @model_serializer(mode="wrap")
    def _sparse(self, handler: Any) -> Any:
        return {key: value for key, value in handler(self).items() if value != []}


class Answer(Open):
    kind: Literal["answer"] = "answer"
    is_whole: bool = True
    detail: SerializeAsAny[Detail] = Detail()
    sparse: SerializeAsAny[Sparse] = Sparse()
    details: list[Detail] | None = None
    counts: dict[str, int] = {}
    by_number: dict[int, str] = {}
    stop: str | int | None = None
    score: float | None = None
    scores: list[float | int] = []
    anything: Any = None


def by_json(model: BaseModel) -> bytes | None:
    try:
        return JsonAnswer(model.model_dump()).body
    except ValueError:
        return None


DETAILS = st.builds(Detail, text=st.none() | TEXTS, n=st.none() | WHOLE)
PLAIN = {
    "is_whole": st.booleans(),
    "detail": DETAILS,
    "sparse": st.builds(Sparse, text=TEXTS, calls=st.lists(DETAILS, max_size=2)),
    "details": st.none() | st.lists(DETAILS, max_size=3),
    "stop": st.none(),
}
OTHERS = {
    "counts": st.dictionaries(TEXTS, WHOLE, max_size=3),
    "stop": TEXTS | WHOLE,
    "by_number": st.dictionaries(WHOLE, TEXTS, max_size=2),
    "score": FLOATS,
    "scores": st.lists(FLOATS | WHOLE, max_size=2),
    "anything": FLOATS | TEXTS | st.lists(FLOATS, max_size=1),
    "detail": st.builds(More, share=FLOATS) | st.builds(Detail, odd=FLOATS),
    "sparse": st.builds(Sparse, odd=FLOATS),
    "extra": FLOATS | TEXTS,
}


@given(st.fixed_dictionaries(PLAIN), st.fixed_dictionaries({}, optional=OTHERS))
def test_it_is_what_json_writes_or_left_to_it(
    plain: dict[str, Any], others: dict[str, Any]
) -> None:
    model = Answer(**plain | others)
    written = plain_json(model)
    assert written is None or written == by_json(model)


def test_what_is_plain_is_written() -> None:
    model = Answer(details=[Detail(text="ü\n")], sparse=Sparse(calls=[Detail(n=2**70)]))
    assert plain_json(model) == by_json(model) is not None


@pytest.mark.parametrize(
    "given",
    [
        {"score": 1.5},
        {"scores": [1.5]},
        {"anything": 1.5},
        {"extra": 1.5},
        {"detail": More()},
        {"detail": Detail(odd=1.5)},
        {"sparse": Sparse(odd=1.5)},
        {"sparse": Sparse(calls=[Detail(odd=1.5)])},
        {"details": [Detail(text="\ud800")]},
        {"by_number": {1: "a"}},
        {"counts": {"\ud800": 1}},
    ],
)
def test_what_may_be_written_otherwise_is_left_to_json(given: dict[str, Any]) -> None:
    assert plain_json(Answer(**given)) is None


def test_a_field_of_another_type_than_declared_is_left_to_json() -> None:
    assert plain_json(Detail.model_construct(n=1.5)) is None
