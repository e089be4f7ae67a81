"""Where our answers differ from those of vLLM's own server, and why."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from containers.version import __version__
from tests.engine.corpus import Sample
from tests.engine.servers import CHAT, POOLING

Answer = dict[str, Any]

SERVED = ", ".join([CHAT["name"], POOLING["name"]])
UNKNOWN = f"The model `gpt-4` does not exist. Valid aliases: {SERVED}."
UNABLE = (
    "The model `smollm2` does not support structured decisions requests. "
    "No model here does."
)


class Deliberate(NamedTuple):
    """A difference that is meant: why, where, and what ours is instead of stock's."""

    reason: str
    applies: Callable[[Sample, Answer], bool]
    change: Callable[[Answer], Answer]


def _openai_shape(answer: Answer) -> Answer:
    error = {
        "message": answer["body"]["detail"],
        "type": "Bad Request",
        "param": None,
        "code": answer["status"],
    }
    return answer | {"body": {"error": error}}


def _is_about_an_unknown_model(sample: Sample, answer: Answer) -> bool:
    return "unknown model" in sample.name and answer["status"] == HTTPStatus.NOT_FOUND


def _naming_all_models(answer: Answer) -> Answer:
    error = answer["body"]["error"] | {"message": UNKNOWN}
    if "param" in error:
        error["param"] = "model"
    return answer | {"body": answer["body"] | {"error": error}}


def _not_found(message: str) -> Callable[[Answer], Answer]:
    status = HTTPStatus.NOT_FOUND
    error = {
        "message": message,
        "type": "NotFoundError",
        "param": "model",
        "code": int(status),
    }
    return lambda answer: answer | {"status": int(status), "body": {"error": error}}


DELIBERATE = [
    Deliberate(
        "tells the version of vllm-di too, under a key of its own",
        lambda sample, _: sample.path == "/version",
        lambda answer: answer | {"body": answer["body"] | {"vllm_di": __version__}},
    ),
    Deliberate(
        "has OpenAI's shape where FastAPI's own shows through",
        lambda _, answer: "detail" in answer["body"],
        _openai_shape,
    ),
    Deliberate(
        "names every model there is, and the parameter, on each route",
        _is_about_an_unknown_model,
        _naming_all_models,
    ),
    Deliberate(
        "goes by the model a body names on every route; SageMaker's kit drops it",
        lambda sample, _: sample.name == "invocations: unknown model",
        _not_found(UNKNOWN),
    ),
    Deliberate(
        "is 404 for what a model cannot do, as for the other tasks, not 501",
        lambda _, answer: answer["status"] == HTTPStatus.NOT_IMPLEMENTED,
        _not_found(UNABLE),
    ),
]

_OTHER_WORDS = "refuses what is no JSON object in the words of the other routes"
TOLD_OTHERWISE = {
    "/invocations: malformed JSON": _OTHER_WORDS,
    "/invocations: a list": _OTHER_WORDS,
    "/invocations: no UTF-8": _OTHER_WORDS,
    "batch: streamed": "vLLM gives what came last, which is more or less by timing",
}
"""Samples answered with the same status in other words, and why."""


def expected(sample: Sample, stock: Answer) -> Answer:
    """What we should answer where vLLM's own server answers this."""
    for deliberate in DELIBERATE:
        if deliberate.applies(sample, stock):
            stock = deliberate.change(stock)
    return stock
