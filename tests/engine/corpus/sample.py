"""One request of the corpus, and how to send it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx

MODEL = "smollm2"
FRANCE = [{"role": "user", "content": "What is the capital of France?"}]

TIMEOUT_S = 120.0
_JSON = "application/json"


@dataclass(frozen=True)
class Sample:
    """A request whose answer is determined: greedy, seeded, or an error.

    Attributes:
        name: What it shows; unique in the corpus.
        path: Path on the server.
        content: The body, or ``None`` to send a GET request.
        content_type: Header of that name, or ``None`` to leave it out.
        pools: Whether it is for a pooling model rather than for the chat model.
    """

    name: str
    path: str
    content: bytes | None = None
    content_type: str | None = _JSON
    pools: bool = False

    def send(self, client: httpx.Client) -> httpx.Response:
        """Send it and read the whole answer."""
        if self.content is None:
            return client.get(self.path)
        headers = {"Content-Type": self.content_type} if self.content_type else {}
        return client.post(self.path, content=self.content, headers=headers)


def sample(name: str, path: str, body: Any, *, pools: bool = False) -> Sample:
    """A sample that posts a body as JSON."""
    return Sample(name, path, json.dumps(body).encode(), pools=pools)


def chat(name: str, **fields: Any) -> Sample:
    """A greedy chat request of at most 8 tokens, with fields set on top of that.

    A field set to ``...`` is left out.
    """
    body = {"model": MODEL, "messages": FRANCE, "temperature": 0, "max_tokens": 8}
    return sample(f"chat: {name}", "/v1/chat/completions", without_gaps(body | fields))


def completion(name: str, **fields: Any) -> Sample:
    """A greedy completion of at most 6 tokens, with fields set on top of that.

    A field set to ``...`` is left out.
    """
    body = {
        "model": MODEL,
        "prompt": "The sky is",
        "temperature": 0,
        "max_tokens": 6,
    }
    return sample(f"completion: {name}", "/v1/completions", without_gaps(body | fields))


def without_gaps(body: dict[str, Any]) -> dict[str, Any]:
    """A body without the fields that are ``...``."""
    return {key: value for key, value in body.items() if value is not ...}
