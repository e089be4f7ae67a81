"""What schemathesis does around each request: keep answers short, count statuses.

It runs in schemathesis' own environment, so it knows nothing else of this project.
"""

from __future__ import annotations

import atexit
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis  # type: ignore[import-not-found,unused-ignore]  # not here

COUNTS_FILE = "API_FUZZ_COUNTS"
"""Variable that names the file for the counts, ``"METHOD path status": n``."""

MAX_TOKENS = 4
MAX_ANSWERS = 2
LIMITS = {
    "max_tokens": MAX_TOKENS,
    "max_completion_tokens": MAX_TOKENS,
    "max_output_tokens": MAX_TOKENS,
    "min_tokens": MAX_TOKENS,
    "n": MAX_ANSWERS,
    "best_of": MAX_ANSWERS,
}
DEFAULTS = {
    "/inference/v1/generate": ("sampling_params", "max_tokens"),
    "/v1/chat/completions": ("max_tokens",),
    "/v1/chat/completions/batch": ("max_tokens",),
    "/v1/completions": ("max_tokens",),
    "/v1/responses": ("max_output_tokens",),
    "/invocations": ("max_tokens",),
}
"""Where a request that leaves the length open gets one."""

_counts: Counter[str] = Counter()


@schemathesis.hook  # type: ignore[untyped-decorator,unused-ignore]  # as above
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Bound how much a request may generate; the rest of it stays as it is."""
    del context, kwargs
    case.body = shortened(case.body, DEFAULTS.get(case.operation.path))


@schemathesis.hook  # type: ignore[untyped-decorator,unused-ignore]  # as above
def after_call(context: Any, case: Any, response: Any) -> None:
    """Count the answer."""
    del context
    _counts[f"{case.method} {case.operation.path} {response.status_code}"] += 1


@atexit.register
def write_counts() -> None:
    """Write the counts where the variable says."""
    if path := os.environ.get(COUNTS_FILE):
        Path(path).write_text(json.dumps(_counts), encoding="utf-8")


def shortened(body: Any, place: tuple[str, ...] | None) -> Any:
    """A body that asks for few tokens.

    Args:
        body: Any body; what is no JSON object is left alone.
        place: Keys that lead to its length, which is set if it is open.
    """
    if not isinstance(body, dict):
        return body
    body = _bounded(body)
    inner = body
    for key in place[:-1] if place else ():
        inner = inner.get(key)
        if not isinstance(inner, dict):
            return body
    if place and inner.get(place[-1]) is None:
        inner[place[-1]] = MAX_TOKENS
    return body


def _bounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_bounded(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _at_most(_bounded(each), LIMITS.get(key)) for key, each in value.items()
    }


def _at_most(value: Any, limit: int | None) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return limit if limit is not None and is_number and value > limit else value
