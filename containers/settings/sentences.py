"""pydantic's complaints in our own words: no jargon, no addresses, no secrets."""

from __future__ import annotations

from typing import Any

from pydantic_core import ErrorDetails

_TAKES = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
}

_MUST_BE = {
    "greater_than": "is {value}, must be above {gt}",
    "greater_than_equal": "is {value}, must be {ge} or more",
    "less_than": "is {value}, must be below {lt}",
    "less_than_equal": "is {value}, must be at most {le}",
    "finite_number": "is {value}, must be a finite number",
    "literal_error": "is {value}, must be {expected}",
    "missing": "is missing",
    "string_too_short": "is empty",
}

_HINTS = {
    "missing": "Add it.",
    "string_too_short": "Give it a value, or leave the key out.",
    "invalid_key": "Put the key in quotes.",
}


def sentence(detail: ErrorDetails, stand_in: str = "") -> tuple[str, str]:
    """What is wrong, and what to do about it (perhaps nothing that helps).

    Args:
        detail: pydantic's complaint.
        stand_in: What to call the value where it must not be shown; empty if it may.
    """
    kind, value = detail["type"], detail["input"]
    hint = _HINTS.get(kind, "")
    if kind in _MUST_BE:
        shown = stand_in or (repr(value) if isinstance(value, str) else _shown(value))
        return _MUST_BE[kind].format_map(
            {**detail.get("ctx", {}), "value": shown}
        ), hint
    if kind in _TAKES:
        return f"takes {_TAKES[kind]}, got {described(value, stand_in)}", _quoting(
            kind, value
        )
    if kind == "invalid_key":
        return f"a key must be text, got {described(value)}", hint
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}", hint


def described(value: Any, stand_in: str = "") -> str:
    """The type of a value in words, with the value where it cannot be a secret."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return stand_in or f"the truth value {str(value).lower()}"
    if isinstance(value, int | float):
        return stand_in or f"the number {value}"
    words: dict[type, str] = {
        str: "text",
        list: "a list",
        tuple: "a list",
        dict: "a mapping",
    }
    return words.get(type(value), f"a {type(value).__name__}")


def _shown(value: Any) -> str:
    """A plain value itself; of any other its type, since a secret may be in it."""
    return str(value) if isinstance(value, bool | int | float) else described(value)


def _quoting(kind: str, value: Any) -> str:
    scalar = value is not None and not isinstance(value, dict | list | tuple)
    return "Put the value in quotes." if kind == "string_type" and scalar else ""
