"""The ``anthropic`` package against a running server: whole, streamed, counted.

Usage: python examples/clients/with_anthropic.py [URL [KEY]]
"""

from __future__ import annotations

import sys

from anthropic import Anthropic

DEFAULTS = ("http://127.0.0.1:8000", "none")
URL, KEY = (*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :])
MODEL = "smollm2"
MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]

if __name__ == "__main__":
    client = Anthropic(base_url=URL, auth_token=KEY)
    message = client.messages.create(model=MODEL, messages=MESSAGES, max_tokens=16)
    print("message:", message.content[0].text, message.stop_reason)
    with client.messages.stream(
        model=MODEL,
        messages=MESSAGES,
        system="Answer in one word.",
        max_tokens=16,
    ) as stream:
        print("streamed:", "|".join(stream.text_stream))
    count = client.messages.count_tokens(model=MODEL, messages=MESSAGES)
    print("tokens:", count.input_tokens)
