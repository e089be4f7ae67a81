"""Requests to a pooling model: embeddings, scores, rerankings, what it cannot do."""

from __future__ import annotations

from typing import Any

from tests.engine.corpus.sample import FRANCE, Sample, without_gaps
from tests.engine.corpus.sample import sample as _sample

MODEL = "minilm"
_CAT = "a cat sat"
_TEXTS = [_CAT, "a kitten sat", "quantum physics"]


def _post(path: str, name: str, body: Any) -> Sample:
    return _sample(f"{path}: {name}", path, without_gaps(body), pools=True)


def _embed(name: str, **fields: Any) -> Sample:
    return _post("/v1/embeddings", name, {"model": MODEL, "input": _CAT} | fields)


def _cohere(name: str, **fields: Any) -> Sample:
    body = {"model": MODEL, "texts": _TEXTS, "input_type": "search_query"}
    return _post("/v2/embed", name, body | fields)


def _score(name: str, *, path: str = "/score", **fields: Any) -> Sample:
    body = {"model": MODEL, "text_1": _CAT, "text_2": _TEXTS[1:]}
    return _post(path, name, body | fields)


def _rerank(name: str, *, path: str = "/rerank", **fields: Any) -> Sample:
    body = {"model": MODEL, "query": _CAT, "documents": _TEXTS[1:]}
    return _post(path, name, body | fields)


def _pool(name: str, **fields: Any) -> Sample:
    return _post("/pooling", name, {"model": MODEL, "input": _CAT} | fields)


EMBEDDINGS = [
    _embed("a text"),
    _embed("no model named", model=...),
    _embed("several texts", input=_TEXTS),
    _embed("token ids", input=[101, 1037, 4937, 102]),
    _embed("several lists of token ids", input=[[101, 102], [1037]]),
    _embed("base64", encoding_format="base64"),
    _embed("base64, half precision", encoding_format="base64", embed_dtype="float16"),
    _embed("bytes", encoding_format="bytes"),
    _embed("bytes alone", encoding_format="bytes_only"),
    _embed("without activation", use_activation=False),
    _embed("no special tokens added", add_special_tokens=False),
    _embed("cut to 3 tokens", truncate_prompt_tokens=3),
    _embed("cut from the left", truncate_prompt_tokens=3, truncation_side="left"),
    _embed("cut to the model", truncate_prompt_tokens=-1, input="word " * 600),
    _embed("messages without a template", input=..., messages=FRANCE),
    _embed("dimensions of a model that has one size", dimensions=3),
    _embed("no dimensions", dimensions=0),
    _embed("dimensions of a wrong type", dimensions="few"),
    _embed("unknown format", encoding_format="poem"),
    _embed("unknown field", no_such_field=1),
    _embed("no input", input=...),
    _embed("empty text", input=""),
    _embed("no texts", input=[]),
    _embed("input of mixed types", input=["a", 1]),
    _embed("token id beyond the vocabulary", input=[999999]),
    _embed("negative token id", input=[-1]),
    _embed("too long", input="word " * 600),
    _embed("unknown model", model="gpt-4"),
    _embed("retired parameter", normalize=True),
    _cohere("texts"),
    _cohere(
        "types of numbers", texts=[_CAT], embedding_types=["float", "binary", "base64"]
    ),
    _cohere("cut at the start", truncate="START", texts=["word " * 600]),
    _cohere("too long and not to be cut", truncate="NONE", texts=["word " * 600]),
    _cohere("no texts", texts=[]),
    _cohere("unknown type of number", embedding_types=["poem"]),
]

SCORES = [
    _score("one against several"),
    _score("no model named", model=...),
    _score("pairs", text_1=_TEXTS, text_2=_TEXTS),
    _score("its older path", path="/v1/score"),
    _score(
        "queries and documents", text_1=..., text_2=..., queries=_CAT, documents=_CAT
    ),
    _score("lists that do not fit", text_1=_TEXTS[:2], text_2=_TEXTS),
    _score("nothing to compare with", text_2=[]),
    _score("one side missing", text_2=...),
    _score("side of a wrong type", text_1=5),
    _score("unknown model", model="gpt-4"),
    _score("cut", truncate_prompt_tokens=3),
    _score("too long", text_1="word " * 600),
    _rerank("two documents"),
    _rerank("the best one", top_n=1),
    _rerank("more than there are", top_n=9),
    _rerank("first older path", path="/v1/rerank"),
    _rerank("second older path", path="/v2/rerank"),
    _rerank("no documents", documents=[]),
    _rerank("no query", query=...),
    _rerank("negative top_n", top_n=-1),
    _rerank("unknown model", model="gpt-4"),
]

POOLED = [
    _pool("a text"),
    _pool("no model named", model=...),
    _pool("base64", encoding_format="base64"),
    _pool("embedding asked for", task="embed"),
    _pool("rows of tokens", task="token_embed"),
    _pool("unknown task", task="dance"),
    _pool("no input", input=...),
    _pool("unknown model", model="gpt-4"),
    _post("/tokenize", "by a pooling model", {"model": MODEL, "prompt": _CAT}),
    _post("/detokenize", "by a pooling model", {"model": MODEL, "tokens": [1037]}),
]
