"""Requests of Anthropic's Messages API: answered, streamed, counted, or refused."""

from __future__ import annotations

from typing import Any

from tests.engine.corpus.sample import FRANCE, MODEL, Sample, sample, without_gaps

_WEATHER = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
_PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
}


def _message(name: str, **fields: Any) -> Sample:
    body = {"model": MODEL, "messages": FRANCE, "temperature": 0, "max_tokens": 8}
    return sample(f"messages: {name}", "/v1/messages", without_gaps(body | fields))


def _count(name: str, **fields: Any) -> Sample:
    body = {"model": MODEL, "messages": FRANCE}
    path = "/v1/messages/count_tokens"
    return sample(f"count_tokens: {name}", path, without_gaps(body | fields))


def _said(*content: Any) -> list[Any]:
    return [{"role": "user", "content": list(content)}]


MESSAGES = [
    _message("greedy"),
    _message("greedy, streamed", stream=True),
    _message("system prompt", system="Answer in one word."),
    _message("system prompt in parts", system=[{"type": "text", "text": "Be brief."}]),
    _message("content in parts", messages=_said({"type": "text", "text": "Hi"})),
    _message(
        "several turns",
        messages=[
            *FRANCE,
            {"role": "assistant", "content": "The capital of France is Paris."},
            {"role": "user", "content": "And of Italy?"},
        ],
    ),
    _message(
        "last turn begun", messages=[*FRANCE, {"role": "assistant", "content": "It is"}]
    ),
    _message("cut by max_tokens", max_tokens=3),
    _message("cut by max_tokens, streamed", max_tokens=3, stream=True),
    _message("stop sequence", stop_sequences=["France"]),
    _message("stop sequence, streamed", stop_sequences=["France"], stream=True),
    _message("tools, none chosen", tools=[_WEATHER], tool_choice={"type": "none"}),
    _message("tools without a parser", tools=[_WEATHER]),
    _message(
        "tools without a parser, any", tools=[_WEATHER], tool_choice={"type": "any"}
    ),
    _message(
        "result of a tool",
        messages=[
            *FRANCE,
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "1", "name": "weather", "input": {}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "Rain"}
                ],
            },
        ],
    ),
    _message("picture for a text model", messages=_said(_PICTURE)),
    _message("no messages", messages=...),
    _message("empty messages", messages=[]),
    _message("message without content", messages=[{"role": "user"}]),
    _message("unknown role", messages=[{"role": "robot", "content": "Hi"}]),
    _message("part of an unknown type", messages=_said({"type": "dance"})),
    _message("no max_tokens", max_tokens=...),
    _message("negative max_tokens", max_tokens=-1),
    _message("temperature of a wrong type", temperature="hot"),
    _message("unknown model", model="gpt-4"),
    _message("unknown model, streamed", model="gpt-4", stream=True),
    _message("prompt too long", messages=[{"role": "user", "content": "word " * 3000}]),
    _count("a question"),
    _count("with a system prompt", system="Answer in one word."),
    _count("with tools", tools=[_WEATHER]),
    _count("empty messages", messages=[]),
    _count("no messages", messages=...),
    _count("unknown model", model="gpt-4"),
]
