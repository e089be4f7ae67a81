"""``langchain-openai`` against a running server: invoked, streamed, embedded.

Usage: python examples/clients/with_langchain.py [URL [KEY]]
"""

from __future__ import annotations

import sys
from typing import Literal

from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

DEFAULTS = ("http://127.0.0.1:8000", "none")
URL, KEY = (*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :])
QUESTION = "What is the capital of France?"


class Capital(BaseModel):
    """What the model has to answer with."""

    city: Literal["Paris", "Rome"]


if __name__ == "__main__":
    chat = ChatOpenAI(
        model="smollm2",
        base_url=f"{URL}/v1",
        api_key=KEY,
        temperature=0,
        max_tokens=24,
    )
    print("invoked:", chat.invoke(QUESTION).content)
    print("streamed:", "|".join(str(c.content) for c in chat.stream(QUESTION)))
    structured = chat.with_structured_output(Capital, method="json_schema")
    print("structured:", structured.invoke(QUESTION))
    embeddings = OpenAIEmbeddings(
        model="minilm",
        base_url=f"{URL}/v1",
        api_key=KEY,
        check_embedding_ctx_length=False,  # it would count with OpenAI's tokenizer
    )
    print("embedded:", [len(v) for v in embeddings.embed_documents(["a cat", "a dog"])])
