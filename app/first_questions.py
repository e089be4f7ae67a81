"""The first thing to ask a server: a command for each of its models."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TEXT = "What is the capital of France?"

QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "generate": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": TEXT}], "temperature": 0},
    ),
    "embed": ("/v1/embeddings", {"input": TEXT}),
    "classify": ("/classify", {"input": TEXT}),
    "token_embed": ("/pooling", {"input": TEXT}),
    "token_classify": ("/pooling", {"input": TEXT}),
}
"""Path and body by task; of a model that can do several, the first one here."""


def curl_lines(
    url: str, tasks: Mapping[str, Sequence[str]], *, wants_key: bool
) -> Iterator[str]:
    """Commands that ask each model something it can answer.

    Args:
        url: Where the server is.
        tasks: What each model can do, in vLLM's words, by its name.
        wants_key: Whether the server answers nobody without a key.
    """
    key = " -H 'Authorization: Bearer YOUR_KEY'" if wants_key else ""
    for name, able in tasks.items():
        task = next((task for task in QUESTIONS if task in able), None)
        if task is None:
            continue
        path, body = QUESTIONS[task]
        content = shlex.quote(json.dumps({"model": name, **body}))
        yield f"curl {url}{path}{key} -H 'Content-Type: application/json' -d {content}"
