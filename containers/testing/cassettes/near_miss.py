"""What a cassette says about a request it does not hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from containers.errors import CassetteError
from containers.testing.cassettes.plain import Plain
from containers.testing.cassettes.tape import Episode

_SHOWN = 60
_COMPARED = 2000
_HINT = (
    "Ask what was recorded, or record this too: pytest --vllm-di-record=new, or "
    "RecordingEngine(engine, path, mode='new')."
)


def near_miss(path: Path, asked: Plain, episodes: Sequence[Episode]) -> CassetteError:
    """The error that names the nearest recorded request and all that differs."""
    if not episodes:
        return CassetteError(path=str(path), reason="it is empty", hint=_HINT)
    nearest = min(episodes, key=lambda episode: _distance(episode.request, asked))
    missing = f"no answer to {_shown(_about(asked))}; the nearest request differs in"
    lines = [missing, *(f"  {line}" for line in _differences(nearest.request, asked))]
    return CassetteError(
        path=str(path), line=nearest.line, reason="\n".join(lines), hint=_HINT
    )


def _distance(recorded: Plain, asked: Plain) -> float:
    """How unlike two requests are; what they are about counts for most."""
    one, other = (str(_about(each))[:_COMPARED] for each in (recorded, asked))
    unlikeness = 1 - SequenceMatcher(None, one, other).ratio()
    n_params = sum("prompt" not in name for name, *_ in _unequal(recorded, asked))
    return 4 * unlikeness + n_params / 4


def _differences(recorded: Plain, asked: Plain) -> Iterator[str]:
    for name, was, now in _unequal(recorded, asked):
        if name == "prompt_token_ids" and recorded["prompt"] != asked["prompt"]:
            continue  # they differ since the texts do
        start = _first_difference(was, now)
        yield f"{name}: recorded {_shown(was, start)}, asked {_shown(now, start)}"


def _unequal(recorded: Plain, asked: Plain) -> Iterator[tuple[str, Any, Any]]:
    one, other = _flat(recorded), _flat(asked)
    for name in dict.fromkeys([*one, *other]):
        was, now = one.get(name, ...), other.get(name, ...)
        if was != now:
            yield name, was, now


def _flat(description: Plain) -> Plain:
    return {key: value for key, value in description.items() if key != "params"} | {
        f"params.{key}": value for key, value in description["params"].items()
    }


def _about(description: Plain) -> Any:
    if description["prompt"] is not None:
        return description["prompt"]
    return description.get("prompt_token_ids")


def _first_difference(one: Any, other: Any) -> int:
    if not (isinstance(one, (str, list)) and isinstance(other, type(one))):
        return 0
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


def _shown(value: Any, place: int = 0) -> str:
    """A value, cut around the place where it begins to differ."""
    if value is ...:
        return "the default"
    if not isinstance(value, (str, list)) or len(value) <= _SHOWN:
        return json.dumps(value, ensure_ascii=False)
    start = max(0, min(place - _SHOWN // 2, len(value) - _SHOWN))
    part = json.dumps(value[start : start + _SHOWN], ensure_ascii=False)
    before = "..." if start else ""
    return f"{before}{part}{'...' if start + _SHOWN < len(value) else ''}"
