"""Completion requests that are answered, or refused for what they ask."""

from __future__ import annotations

from tests.engine.corpus.sample import completion

_USAGE = {"include_usage": True}
_SAMPLED = {"temperature": 0.8, "seed": 7, "max_tokens": 5}
_IDS = [504, 6376, 314]

COMPLETIONS = [
    completion("greedy"),
    completion("greedy, streamed", stream=True),
    completion("streamed with usage", stream=True, stream_options=_USAGE),
    completion(
        "streamed with continuous usage",
        stream=True,
        stream_options={**_USAGE, "continuous_usage_stats": True},
    ),
    completion("default length", max_tokens=...),
    completion("several prompts", prompt=["The sky is", "One, two,"], max_tokens=4),
    completion(
        "several prompts, streamed",
        prompt=["The sky is", "One, two,"],
        max_tokens=4,
        stream=True,
    ),
    completion("prompt of token ids", prompt=_IDS),
    completion("prompts of token ids", prompt=[_IDS, [504]], max_tokens=4),
    completion("two seeded answers", n=2, **_SAMPLED),
    completion("two seeded answers, streamed", n=2, stream=True, **_SAMPLED),
    completion("echo", echo=True, max_tokens=4),
    completion("echo, streamed", echo=True, max_tokens=4, stream=True),
    completion("echo alone", echo=True, max_tokens=0),
    completion("echo with logprobs", echo=True, logprobs=1, max_tokens=2),
    completion("logprobs", logprobs=2, max_tokens=4),
    completion("logprobs, streamed", logprobs=2, max_tokens=4, stream=True),
    completion("stop string", stop=["endless", "."]),
    completion("stop string, streamed", stop=["endless", "."], stream=True),
    completion("stop token id", stop_token_ids=[11746]),
    completion("token ids", return_token_ids=True, max_tokens=4),
    completion("allowed tokens", allowed_token_ids=[504, 314], max_tokens=4),
    completion("beams", use_beam_search=True, n=2, max_tokens=4),
    completion("no special tokens added", add_special_tokens=False, max_tokens=2),
    completion("choice", structured_outputs={"choice": [" blue", " red"]}),
    completion("JSON object", response_format={"type": "json_object"}),
    completion("unknown field", best_of=1, max_tokens=2),
    completion("suffix", suffix="."),
    completion("two greedy answers", n=2),
    completion("no prompt", prompt=...),
    completion("empty prompt", prompt=""),
    completion("empty list of prompts", prompt=[]),
    completion("token id beyond the vocabulary", prompt=[999999]),
    completion("negative token id", prompt=[-1]),
    completion("prompt of mixed types", prompt=["a", 1]),
    completion("negative max_tokens", max_tokens=-1),
    completion("too many logprobs", logprobs=1000),
    completion("unknown model", model="gpt-4"),
    completion("unknown model, streamed", model="gpt-4", stream=True),
    completion("prompt too long", prompt="word " * 3000),
    completion("prompt too long, streamed", prompt="word " * 3000, stream=True),
    completion("answer too long", max_tokens=5000),
]
