"""Chat requests that are answered, or refused for what they ask of the model."""

from __future__ import annotations

from typing import Any

from tests.engine.corpus.sample import FRANCE, MODEL, Sample, chat, sample, without_gaps

_WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
_CITY = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
_PREFILLED = [*FRANCE, {"role": "assistant", "content": "It is the city of"}]
_LONG = [{"role": "user", "content": "word " * 3000}]
_ENDLESS = "{% for _ in range(10**9) %}x{% endfor %}"
_USAGE = {"include_usage": True}
_SAMPLED = {"temperature": 0.8, "seed": 7, "max_tokens": 8}

ANSWERED = [
    chat("greedy"),
    chat("greedy, streamed", stream=True),
    chat("streamed with usage", stream=True, stream_options=_USAGE),
    chat(
        "streamed with continuous usage",
        stream=True,
        stream_options={**_USAGE, "continuous_usage_stats": True},
    ),
    chat("no model named", model=...),
    chat("seeded", **_SAMPLED),
    chat("two seeded answers", n=2, **_SAMPLED),
    chat("two seeded answers, streamed", n=2, stream=True, **_SAMPLED),
    chat("logprobs", logprobs=True, top_logprobs=2),
    chat("logprobs, streamed", logprobs=True, top_logprobs=2, stream=True),
    chat("logprobs without alternatives", logprobs=True),
    chat("logprobs as token ids", logprobs=True, return_tokens_as_token_ids=True),
    chat("logprobs of the prompt", prompt_logprobs=1, max_tokens=2),
    chat("stop string", stop=["France"]),
    chat("stop string, streamed", stop="France", stream=True),
    chat("stop string kept", stop=["France"], include_stop_str_in_output=True),
    chat("stop token id", stop_token_ids=[4649]),
    chat("cut by max_completion_tokens", max_tokens=..., max_completion_tokens=3),
    chat("cut by max_tokens, streamed", max_tokens=3, stream=True),
    chat("token ids", return_token_ids=True),
    chat("token ids, streamed", return_token_ids=True, stream=True),
    chat("text of the prompt", return_prompt_text=True, max_tokens=1),
    chat("special tokens kept", skip_special_tokens=False),
    chat("no early end", min_tokens=10, max_tokens=10),
    chat("end ignored", ignore_eos=True, max_tokens=10),
    chat("penalties", repetition_penalty=1.3, presence_penalty=0.5, max_tokens=8),
    chat("logit bias", logit_bias={"4649": -100}, max_tokens=8),
    chat("bad words", bad_words=["Paris"], max_tokens=8),
    chat("prompt truncated", truncate_prompt_tokens=8, max_tokens=4),
    chat(
        "system message",
        messages=[{"role": "system", "content": "Answer in one word."}, *FRANCE],
    ),
    chat(
        "several turns",
        messages=[
            *FRANCE,
            {"role": "assistant", "content": "The capital of France is Paris."},
            {"role": "user", "content": "And of Italy?"},
        ],
    ),
    chat(
        "content in parts",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is the capital"},
                    {"type": "text", "text": "of France?"},
                ],
            }
        ],
    ),
    chat("unknown field", no_such_field=1, max_tokens=2),
    chat("unknown role", messages=[{"role": "robot", "content": "Hi"}], max_tokens=2),
]

TEMPLATED = [
    chat("last turn echoed", messages=_PREFILLED, echo=True, max_tokens=4),
    chat(
        "last turn continued",
        messages=_PREFILLED,
        add_generation_prompt=False,
        continue_final_message=True,
        max_tokens=4,
        return_token_ids=True,
    ),
    chat(
        "last turn continued, streamed",
        messages=_PREFILLED,
        add_generation_prompt=False,
        continue_final_message=True,
        max_tokens=4,
        stream=True,
    ),
    chat(
        "last turn continued and a new one begun",
        messages=_PREFILLED,
        add_generation_prompt=True,
        continue_final_message=True,
    ),
    chat(
        "last turn continued, the new one left at its default",
        messages=_PREFILLED,
        continue_final_message=True,
        max_tokens=4,
    ),
    chat("no new turn begun", add_generation_prompt=False, max_tokens=4),
    chat("special tokens added", add_special_tokens=True, max_tokens=2),
    chat("template of the client", chat_template=_ENDLESS),
    chat(
        "template of the client, hidden",
        chat_template_kwargs={"chat_template": _ENDLESS},
    ),
    chat("template variable", chat_template_kwargs={"enable_thinking": False}),
]

STRUCTURED = [
    chat("JSON object", response_format={"type": "json_object"}),
    chat(
        "JSON schema",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "city", "schema": _CITY},
        },
        max_tokens=16,
    ),
    chat("choice", structured_outputs={"choice": ["London", "Paris"]}),
    chat("choice, streamed", structured_outputs={"choice": ["No", "Yes"]}, stream=True),
    chat("regular expression", structured_outputs={"regex": "[0-9]{3}"}),
    chat(
        "JSON schema at the wrong level",
        response_format={"type": "json_schema", "schema": _CITY},
    ),
    chat(
        "impossible JSON schema",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": {"type": "no such type"}},
        },
    ),
    chat("unknown response format", response_format={"type": "poem"}),
    chat("two structures", structured_outputs={"regex": "a", "choice": ["b"]}),
    chat("tools, none chosen", tools=[_WEATHER], tool_choice="none", max_tokens=4),
    chat("tools without a parser, auto", tools=[_WEATHER], tool_choice="auto"),
    chat("tools without a parser, required", tools=[_WEATHER], tool_choice="required"),
    chat(
        "tools without a parser, named",
        tools=[_WEATHER],
        tool_choice={"type": "function", "function": {"name": "weather"}},
    ),
    chat("tools without a parser, by default", tools=[_WEATHER]),
]


def _batch(name: str, **fields: Any) -> Sample:
    other = [{"role": "user", "content": "What is the capital of Italy?"}]
    body = {"model": MODEL, "messages": [FRANCE, other], "temperature": 0}
    body = without_gaps(body | {"max_tokens": 8} | fields)
    return sample(f"batch: {name}", "/v1/chat/completions/batch", body)


BATCHES = [
    _batch("two conversations"),
    _batch("one conversation", messages=[FRANCE]),
    _batch("logprobs", logprobs=True, top_logprobs=1, max_tokens=2),
    _batch("JSON object", response_format={"type": "json_object"}),
    _batch("streamed", stream=True),
    _batch("two answers", n=2),
    _batch("beams", use_beam_search=True),
    _batch("tools", tools=[_WEATHER]),
    _batch("one long, one short", messages=[FRANCE, _LONG]),
    _batch("no conversations", messages=[]),
    _batch("an empty conversation", messages=[FRANCE, []]),
    _batch("messages outside of a list", messages=FRANCE),
    _batch("no messages", messages=...),
    _batch("unknown model", model="gpt-4"),
]
