"""Requests about tokens, models and the server itself."""

from __future__ import annotations

from typing import Any

from tests.engine.corpus.sample import FRANCE, MODEL, Sample, sample

_PREFILLED = [*FRANCE, {"role": "assistant", "content": "It is"}]


def _tokenize(name: str, **body: Any) -> Sample:
    return sample(f"tokenize: {name}", "/tokenize", {"model": MODEL} | body)


def _detokenize(name: str, **body: Any) -> Sample:
    return sample(f"detokenize: {name}", "/detokenize", {"model": MODEL} | body)


TOKENS = [
    _tokenize("prompt", prompt="The sky is"),
    _tokenize("prompt with strings", prompt="Zoë's 猫", return_token_strs=True),
    _tokenize("empty prompt", prompt=""),
    _tokenize("no special tokens", prompt="The sky", add_special_tokens=False),
    _tokenize("special token spelled out", prompt="<|im_start|>user"),
    _tokenize("messages", messages=FRANCE),
    _tokenize("messages with strings", messages=FRANCE, return_token_strs=True),
    _tokenize("messages, no new turn", messages=FRANCE, add_generation_prompt=False),
    _tokenize("messages, special tokens", messages=FRANCE, add_special_tokens=True),
    _tokenize(
        "last turn continued",
        messages=_PREFILLED,
        add_generation_prompt=False,
        continue_final_message=True,
    ),
    _tokenize(
        "last turn continued and a new one begun",
        messages=_PREFILLED,
        add_generation_prompt=True,
        continue_final_message=True,
    ),
    _tokenize("template of the client", messages=FRANCE, chat_template="{{ 1 }}"),
    _tokenize(
        "template of the client, hidden",
        messages=FRANCE,
        chat_template_kwargs={"chat_template": "{{ 1 }}"},
    ),
    _tokenize("longer than the model", prompt="word " * 2500),
    _tokenize("neither prompt nor messages"),
    _tokenize("prompt of a wrong type", prompt=5),
    _tokenize("unknown model", model="gpt-4", prompt="x"),
    _detokenize("ids", tokens=[504, 6376, 314]),
    _detokenize("special token", tokens=[1, 504, 2]),
    _detokenize("half a character", tokens=[228, 504]),
    _detokenize("no ids", tokens=[]),
    _detokenize("id beyond the vocabulary", tokens=[999999]),
    _detokenize("negative id", tokens=[-1]),
    _detokenize("no tokens"),
    _detokenize("unknown model", model="gpt-4", tokens=[1]),
]

SERVER = [
    Sample("health", "/health"),
    Sample("version", "/version"),
]
