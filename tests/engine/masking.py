"""Answers of two servers, made comparable: ids, times and chunk borders left out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import reduce
from itertools import groupby, takewhile
from typing import Any

import httpx

ANSWER, BATCH = "answer", "batch"
"""How places in an answer begin: in that of one prompt, and in that of several."""

_RANDOM_ID = re.compile(r"\b([a-z]+(?:[-_][a-z]+)*[-_])[0-9a-f]{16,}\b")
# Of a streamed response's item before 0.32, and the signature of a thought.
_BARE_ID = re.compile(r"(?:[0-9a-f]{16}){1,2}")
_POOLED = re.compile(
    r"\.(score|relevance_score|embedding\.\d+|data\.\d+\.data[.\d]+|float[.\d]+)$"
)
_POOLED_TOLERANCE = 1e-3
_SHARED = re.compile(rf"^{BATCH}\..*logprob")
_SHARED_TOLERANCE = 1e-2
_TIMES = ("created", "created_at")
_NUMBER = "sequence_number"
_CARRIED = ("delta", "logprobs")
_CONCATENATED = ("content", "text", "delta", "reasoning", "partial_json")


def comparable(response: httpx.Response) -> dict[str, Any]:
    """Status, content type and body, without what differs between any two answers."""
    content_type = response.headers.get("content-type")
    body: Any = response.text
    if content_type and content_type.startswith("application/json"):
        body = _masked(response.json())
    elif content_type and content_type.startswith("text/event-stream"):
        body = _joined([_masked(event) for event in _events(response.text)])
    return {"status": response.status_code, "content_type": content_type, "body": body}


def kind_of(answer: dict[str, Any]) -> str:
    """Whether it answers one prompt, once, or several that may share a batch."""
    body = answer["body"]
    choices = body.get("choices") if isinstance(body, dict) else None
    return BATCH if isinstance(choices, list) and len(choices) > 1 else ANSWER


def differences(ours: Any, stock: Any, path: str = ANSWER) -> Iterator[str]:
    """Places where two answers differ, a readable line for each."""
    if isinstance(ours, dict) and isinstance(stock, dict):
        for key in [*stock, *(key for key in ours if key not in stock)]:
            yield from differences(
                ours.get(key, ...), stock.get(key, ...), f"{path}.{key}"
            )
    elif isinstance(ours, list) and isinstance(stock, list):
        if len(ours) != len(stock):
            yield f"{path}: ours has {len(ours)} entries, stock has {len(stock)}"
        for index, (mine, theirs) in enumerate(zip(ours, stock, strict=False)):
            yield from differences(mine, theirs, f"{path}.{index}")
    elif not _equal(ours, stock, path):
        yield f"{path}:\n  ours  {_shown(ours)}\n  stock {_shown(stock)}"


def _equal(ours: Any, stock: Any, path: str) -> bool:
    """Whether two values are the same, but for what a batch changes in numbers.

    Which prompts share a batch, and so in which order they are added up, is a matter of
    timing.
    """
    if isinstance(ours, float) and isinstance(stock, float):
        if _POOLED.search(path):
            return math.isclose(ours, stock, abs_tol=_POOLED_TOLERANCE)
        if _SHARED.search(path):
            return math.isclose(ours, stock, abs_tol=_SHARED_TOLERANCE)
    return bool(ours == stock) and type(ours) is type(stock)


def _events(text: str) -> Iterator[Any]:
    """Server-sent events; anything else in the stream is an event of its own.

    An event with a name is shown as that name and what it carries. Its number, if it
    has the right one, is left out: how many went before is a matter of timing.
    """
    for place, block in enumerate(text.removesuffix("\n\n").split("\n\n")):
        name, _, data = block.rpartition("data: ")
        try:
            event = json.loads(data)
        except json.JSONDecodeError:
            yield block
            continue
        if isinstance(event, dict) and event.get(_NUMBER) == place:
            event[_NUMBER] = "its place"
        yield {"name": name.strip(), "event": event} if name else event


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "TIME" if key in _TIMES else _masked(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    if isinstance(value, str):
        if _BARE_ID.fullmatch(value):
            return "-ID"
        return _RANDOM_ID.sub(r"\1-ID", value)
    return value


def _joined(events: list[Any]) -> list[Any]:
    """Events as if the engine had been slow to fill, and the server to read them.

    How many tokens an event carries, and how the events of several choices alternate,
    is a matter of timing. So those of a choice are put together, its first one, which
    tells its role, excepted. Deltas with a name are put together where they stand.
    """
    texts = [*takewhile(_is_text, events)]
    joined: list[Any] = []
    for event in sorted(texts, key=_index):
        if joined and _continues(joined[-1], event):
            joined[-1] = _added(joined[-1], event)
        else:
            joined.append(event)
    return [*joined, *_joined_deltas(events[len(texts) :])]


def _joined_deltas(events: list[Any]) -> Iterator[Any]:
    for _, group in groupby(events, key=_delta_of):
        first, *others = group
        if _delta_of(first) is None:
            yield from (first, *others)
        else:
            yield _without_end(reduce(_added, others, first))


def _without_end(delta: Any) -> Any:
    """A delta without the logprobs of a token that ends it and has no text.

    It has them where the engine gave its last two tokens at once, a matter of timing.
    """
    inner = delta["event"]
    if not inner.get("logprobs") or "delta" not in inner:
        return delta
    length = len("".join(each["token"] for each in inner["logprobs"][:-1]))
    ends = length >= len(inner["delta"])
    logprobs = inner["logprobs"][:-1] if ends else inner["logprobs"]
    return delta | {"event": inner | {"logprobs": logprobs}}


def _delta_of(event: Any) -> str | None:
    """What a delta with a name belongs to, or ``None`` for any other event."""
    if not isinstance(event, dict) or not str(event.get("name")).endswith("delta"):
        return None
    inner = event["event"]
    place = {key: value for key, value in inner.items() if key not in _CARRIED}
    return json.dumps([event["name"], place])


def _continues(last: Any, event: Any) -> bool:
    if _tells_role(last) or _tells_role(event):
        return False
    return _index(last) == _index(event)


def _is_text(event: Any) -> bool:
    return isinstance(event, dict) and len(event.get("choices", [])) == 1


def _index(event: Any) -> int:
    return int(event["choices"][0]["index"])


def _tells_role(event: Any) -> bool:
    return "role" in event["choices"][0].get("delta", {})


def _added(first: Any, second: Any, key: str = "") -> Any:
    """Two values of a key put together; where that has no meaning, the later one."""
    if isinstance(first, dict) and isinstance(second, dict):
        both = {name: (first.get(name), second.get(name)) for name in first | second}
        return {name: _added(*values, name) for name, values in both.items()}
    if key == "choices":
        return [_added(first[0], second[0])]
    if isinstance(first, list) and isinstance(second, list):
        return first + second
    if isinstance(first, str) and isinstance(second, str) and key in _CONCATENATED:
        return first + second
    return first if second is None else second


def _shown(value: Any) -> str:
    return "nothing" if value is ... else json.dumps(value, ensure_ascii=False)
