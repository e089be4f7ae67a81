"""Requests of OpenAI's Responses API: answered, streamed, kept, or refused."""

from __future__ import annotations

from typing import Any

from tests.engine.corpus.sample import FRANCE, MODEL, Sample, sample, without_gaps

_PATH = "/v1/responses"
_QUESTION = FRANCE[0]["content"]
_CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}}
_WEATHER = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def _respond(name: str, **fields: Any) -> Sample:
    body = {
        "model": MODEL,
        "input": _QUESTION,
        "temperature": 0,
        "max_output_tokens": 8,
    }
    return sample(f"responses: {name}", _PATH, without_gaps(body | fields))


RESPONSES = [
    _respond("greedy"),
    _respond("greedy, streamed", stream=True),
    _respond("no model named", model=...),
    _respond("instructions", instructions="Answer in one word."),
    _respond("instructions, streamed", instructions="Be brief.", stream=True),
    _respond("cut by max_output_tokens", max_output_tokens=3),
    _respond("cut by max_output_tokens, streamed", max_output_tokens=3, stream=True),
    _respond("seeded", temperature=0.8, seed=7),
    _respond("metadata and user", metadata={"a": "b"}, user="somebody"),
    _respond("logprobs", include=["message.output_text.logprobs"], top_logprobs=2),
    _respond(
        "logprobs, streamed",
        include=["message.output_text.logprobs"],
        top_logprobs=2,
        stream=True,
    ),
    _respond(
        "several turns",
        input=[
            {"role": "user", "content": _QUESTION},
            {"role": "assistant", "content": "The capital of France is Paris."},
            {"role": "user", "content": "And of Italy?"},
        ],
    ),
    _respond(
        "content in parts",
        input=[
            {
                "role": "user",
                "content": [{"type": "input_text", "text": _QUESTION}],
            }
        ],
    ),
    _respond(
        "JSON schema",
        text={"format": {"type": "json_schema", "name": "city", "schema": _CITY}},
        max_output_tokens=16,
    ),
    _respond("JSON object", text={"format": {"type": "json_object"}}),
    _respond("tools, none chosen", tools=[_WEATHER], tool_choice="none"),
    _respond("tools without a parser", tools=[_WEATHER], tool_choice="auto"),
    _respond(
        "tools without a parser, required", tools=[_WEATHER], tool_choice="required"
    ),
    _respond("empty input", input=""),
    _respond("no turns", input=[]),
    _respond("no input", input=...),
    _respond("input of a wrong type", input=5),
    _respond("turn of an unknown type", input=[{"type": "dance"}]),
    _respond("unknown model", model="gpt-4"),
    _respond("unknown model, streamed", model="gpt-4", stream=True),
    _respond("prompt too long", input="word " * 3000),
    _respond("prompt too long, streamed", input="word " * 3000, stream=True),
    _respond("negative max_output_tokens", max_output_tokens=-1),
    _respond("temperature of a wrong type", temperature="hot"),
    _respond("an earlier one that is unknown", previous_response_id="resp_0"),
    _respond("an earlier one of a wrong form", previous_response_id="0"),
    _respond("in the background without being kept", background=True, store=False),
    _respond(
        "picture for a text model",
        input=[
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_image",
                        "image_url": "data:image/png,",
                        "detail": "auto",
                    }
                ],
            }
        ],
    ),
    Sample("responses: unknown id", f"{_PATH}/resp_0"),
    Sample("responses: id of a wrong form", f"{_PATH}/nothing"),
    Sample("responses: unknown id cancelled", f"{_PATH}/resp_0/cancel", b"", None),
    Sample("responses: wrong id cancelled", f"{_PATH}/nothing/cancel", b"", None),
]
