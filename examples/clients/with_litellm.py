"""``litellm`` against a running server: completed, streamed, embedded, reranked.

With LITELLM_LOCAL_MODEL_COST_MAP=True in the environment it asks nobody else.

Usage: python examples/clients/with_litellm.py [URL [KEY]]
"""

from __future__ import annotations

import sys

import litellm

DEFAULTS = ("http://127.0.0.1:8000", "none")
URL, KEY = (*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :])
MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]

if __name__ == "__main__":
    options = {"api_base": f"{URL}/v1", "api_key": KEY}
    chat = {"model": "hosted_vllm/smollm2", "messages": MESSAGES, "temperature": 0}
    answer = litellm.completion(**chat, **options, max_tokens=16)
    print("completed:", answer.choices[0].message.content)
    chunks = litellm.completion(**chat, **options, max_tokens=16, stream=True)
    print("streamed:", "|".join(c.choices[0].delta.content or "" for c in chunks))
    vectors = litellm.embedding(
        model="hosted_vllm/minilm", input=["a cat", "a dog"], **options
    )
    print("embedded:", [len(each["embedding"]) for each in vectors.data])
    ranked = litellm.rerank(
        model="hosted_vllm/minilm",
        query="a cat sat",
        documents=["quantum physics", "a kitten sat"],
        api_base=URL,
        api_key=KEY,
    )
    print("reranked:", [(r["index"], r["relevance_score"]) for r in ranked.results])
