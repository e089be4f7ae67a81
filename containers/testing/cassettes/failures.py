"""Errors an engine raised, as JSON and back."""

from __future__ import annotations

import builtins
from typing import Any

from containers import vllm_api
from containers.testing.cassettes.plain import Plain, plain


def as_json(error: BaseException) -> Plain:
    """Class, arguments and attributes of an error."""
    found: Plain = {"type": type(error).__name__, "args": plain(error.args)}
    if attributes := {k: v for k, v in vars(error).items() if k != "__notes__"}:
        found["attributes"] = plain(attributes)
    return found


def from_json(found: Plain) -> Exception:
    """The error again; one of an unknown class becomes an ``EngineGenerateError``."""
    kind = _class(found["type"])
    if kind is None:
        text = f"{found['type']}: {', '.join(map(str, found['args']))}"
        error: Exception = vllm_api.EngineGenerateError(text)
        return error
    # Constructors differ between classes; arguments and attributes are all there is.
    made: Exception = kind.__new__(kind, *found["args"])
    made.__dict__.update(found.get("attributes", {}))
    return made


def _class(name: str) -> Any:
    if name in vllm_api.NAMES:
        kind = getattr(vllm_api, name)
    else:
        kind = getattr(builtins, name, None)
    is_error = isinstance(kind, type) and issubclass(kind, Exception)
    return kind if is_error else None
