"""Requests that no model sees: wrong values, wrong types, no JSON at all."""

from __future__ import annotations

import json

from tests.engine.corpus.sample import FRANCE, Sample, chat

_CHAT = "/v1/chat/completions"
_GENERATING = (
    "/v1/chat/completions/batch",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/generative_scoring",
    "/v1/systemone",
    "/invocations",
)
_POOLING = ("/v1/embeddings", "/v2/embed", "/score", "/rerank", "/pooling")
_GOOD = json.dumps({"messages": FRANCE, "max_tokens": 1, "temperature": 0}).encode()
_LONG = [{"role": "user", "content": "word " * 3000}]
_ALMOST = [{"role": "user", "content": "word " * 2010}]

VALUES = [
    chat("unknown model", model="gpt-4"),
    chat("unknown model, streamed", model="gpt-4", stream=True),
    chat("two greedy answers", n=2),
    chat("no messages", messages=...),
    chat("empty messages", messages=[]),
    chat("messages of a wrong type", messages="hi"),
    chat("message without content", messages=[{"role": "user"}]),
    chat("part of an unknown type", messages=[{"role": "user", "content": [{"a": 1}]}]),
    chat(
        "picture for a text model",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png,"}}
                ],
            }
        ],
    ),
    chat("temperature of a wrong type", temperature="hot"),
    chat("negative temperature", temperature=-1),
    chat("top_p above one", top_p=2),
    chat("no answers", n=0),
    chat("negative answers", n=-1),
    chat("no tokens", max_tokens=0),
    chat("negative max_tokens", max_tokens=-5),
    chat("answer too long", max_tokens=5000),
    chat("answer too long, newer name", max_tokens=..., max_completion_tokens=5000),
    chat("prompt too long", messages=_LONG),
    chat("prompt too long, streamed", messages=_LONG, stream=True),
    chat(
        "answer cut by the end of the context",
        messages=_ALMOST,
        max_tokens=50,
        logit_bias={"28": 100},  # or the text hangs on which blocks were cached
    ),
    chat("alternatives without logprobs", top_logprobs=2),
    chat("too many alternatives", logprobs=True, top_logprobs=1000),
    chat("stream options without a stream", stream_options={"include_usage": True}),
    chat("seed too big", seed=2**64),
    chat("stop of a wrong type", stop=5),
    chat("stop token id of a wrong type", stop_token_ids=["x"]),
    chat("logit bias beyond the vocabulary", logit_bias={"999999": 1}),
    chat("unknown tool choice", tools=[], tool_choice="maybe"),
]


_JSON = "application/json"
_BODIES: dict[str, tuple[bytes, str | None]] = {
    "malformed JSON": (b'{"model": ', _JSON),
    "JSON cut in a string": (b'{"model": "smol', _JSON),
    "two JSON values": (_GOOD + b"{}", _JSON),
    "a list": (b"[]", _JSON),
    "null": (b"null", _JSON),
    "a string": (b'"x"', _JSON),
    "a number": (b"7", _JSON),
    "an empty object": (b"{}", _JSON),
    "an empty body": (b"", _JSON),
    "an empty body of no type": (b"", None),
    "no UTF-8": (b'{"model": "\xff"}', _JSON),
    "half a surrogate pair": (
        b'{"messages": [{"role": "user", "content": "\\ud800"}], "max_tokens": 1}',
        _JSON,
    ),
    "JSON nested too deep": (b"[" * 100_000, _JSON),
    "text/plain": (_GOOD, "text/plain"),
    "no content type": (_GOOD, None),
    "JSON of another kind": (_GOOD, "application/problem+json"),
    "a form": (b"model=smollm2", "application/x-www-form-urlencoded"),
    "content type with a charset": (_GOOD, "application/json; charset=utf-8"),
    "content type in capitals": (_GOOD, "Application/JSON"),
}

BODIES = [
    Sample(f"{path}: {name}", path, content, content_type)
    for path in (_CHAT, "/v1/completions", "/tokenize", "/detokenize")
    for name, (content, content_type) in _BODIES.items()
    if path == _CHAT or not content.startswith(_GOOD)
] + [
    Sample(f"{path}: {name}", path, *_BODIES[name], pools=path in _POOLING)
    for path in (*_GENERATING, *_POOLING)
    for name in ("malformed JSON", "a list", "an empty object", "no UTF-8", "a form")
]
