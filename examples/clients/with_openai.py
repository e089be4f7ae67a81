"""The ``openai`` package against a running server: sync, async, streamed, parsed.

Usage: python examples/clients/with_openai.py [URL [KEY]]
"""

from __future__ import annotations

import asyncio
import sys
from typing import Literal

from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

DEFAULTS = ("http://127.0.0.1:8000", "none")
URL, KEY = (*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :])
MODEL, EMBEDDINGS = "smollm2", "minilm"
QUESTION = "What is the capital of France?"


class Capital(BaseModel):
    """What the model has to answer with."""

    city: Literal["Paris", "Rome"]


def ask(client: OpenAI) -> None:
    """Chat, completion, response, embedding, each in one piece."""
    messages = [{"role": "user", "content": QUESTION}]
    chat = client.chat.completions.create(
        model=MODEL, messages=messages, max_tokens=16, temperature=0
    )
    print("chat:", chat.choices[0].message.content)
    completion = client.completions.create(
        model=MODEL, prompt="The sky is", max_tokens=4, temperature=0
    )
    print("completion:", completion.choices[0].text)
    response = client.responses.create(
        model=MODEL, input=QUESTION, max_output_tokens=16, temperature=0
    )
    print("response:", response.output_text)
    vector = client.embeddings.create(model=EMBEDDINGS, input="a cat").data[0]
    print("embedding:", len(vector.embedding), "numbers")


def parse(client: OpenAI) -> None:
    """An answer as an object, as a chat and as a response."""
    messages = [{"role": "user", "content": QUESTION}]
    chat = client.beta.chat.completions.parse(
        model=MODEL,
        messages=messages,
        response_format=Capital,
        max_tokens=24,
        temperature=0,
    )
    print("parsed:", chat.choices[0].message.parsed)
    response = client.responses.parse(
        model=MODEL,
        input=QUESTION,
        text_format=Capital,
        max_output_tokens=24,
        temperature=0,
    )
    print("parsed response:", response.output_parsed)


async def stream(client: AsyncOpenAI) -> None:
    """A chat and a response, piece by piece."""
    messages = [{"role": "user", "content": QUESTION}]
    chunks = await client.chat.completions.create(
        model=MODEL, messages=messages, max_tokens=16, temperature=0, stream=True
    )
    pieces = [c.choices[0].delta.content or "" async for c in chunks if c.choices]
    print("streamed:", "|".join(pieces))
    async with client.responses.stream(
        model=MODEL, input=QUESTION, max_output_tokens=16, temperature=0
    ) as events:
        kinds = [event.type async for event in events]
    print("response events:", len(kinds), kinds[0], "...", kinds[-1])


if __name__ == "__main__":
    ask(OpenAI(base_url=f"{URL}/v1", api_key=KEY))
    parse(OpenAI(base_url=f"{URL}/v1", api_key=KEY))
    asyncio.run(stream(AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY)))
