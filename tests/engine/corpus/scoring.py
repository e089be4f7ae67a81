"""Requests for single tokens' probabilities, and those that any model may get."""

from __future__ import annotations

from typing import Any

from tests.engine.corpus.sample import FRANCE, MODEL, Sample, sample, without_gaps


def _score(name: str, **fields: Any) -> Sample:
    body = {
        "model": MODEL,
        "query": "Is the sky blue?",
        "items": [" Yes", " No"],
        "label_token_ids": [504, 314],
    }
    path = "/generative_scoring"
    return sample(f"generative scoring: {name}", path, without_gaps(body | fields))


def _decide(name: str, **fields: Any) -> Sample:
    questions = {
        "blue": {"type": "boolean", "instructions": "Is the sky blue?"},
    }
    body = {"model": MODEL, "state": "The sky is blue.", "questions": questions}
    return sample(f"decisions: {name}", "/v1/systemone", without_gaps(body | fields))


def _invoke(name: str, **fields: Any) -> Sample:
    body = {"model": MODEL, "temperature": 0, "max_tokens": 4} | fields
    return sample(f"invocations: {name}", "/invocations", without_gaps(body))


SCORINGS = [
    _score("texts"),
    _score("no model named", model=...),
    _score("token ids", query=[504, 6376], items=[[314], [504]]),
    _score("over the whole vocabulary", apply_softmax=False),
    _score("items first", item_first=True),
    _score("no items", items=[]),
    _score("no labels", label_token_ids=[]),
    _score("label beyond the vocabulary", label_token_ids=[999999]),
    _score("no query", query=...),
    _score("query of a wrong type", query=5),
    _score("unknown model", model="gpt-4"),
]

DECISIONS = [
    _decide("of a model that makes none"),
    _decide("unknown kind of question", questions={"x": {"type": "dance"}}),
    _decide("no questions", questions={}),
    _decide("no state", state=...),
]

INVOCATIONS = [
    _invoke("messages", messages=FRANCE),
    _invoke("messages, streamed", messages=FRANCE, stream=True),
    _invoke("prompt", prompt="The sky is"),
    _invoke("neither"),
    _invoke("unknown model", messages=FRANCE, model="gpt-4"),
    _invoke("negative max_tokens", prompt="The sky is", max_tokens=-1),
    Sample("ping", "/ping"),
]
