"""Names of vLLM's engine arguments, read from its source text: nothing is imported."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_CLASSES = frozenset({"EngineArgs", "AsyncEngineArgs"})


@cache
def engine_argument_names() -> frozenset[str] | None:
    """What the installed vLLM takes as engine arguments.

    Takes about 50 ms once, then nothing: settings can be checked without the seconds
    that importing vLLM costs.

    Returns:
        The names, such as ``max_model_len``; ``None`` when vLLM is not installed.

    Source: the public fields of ``vllm.engine.arg_utils.AsyncEngineArgs``.
    """
    text = _source()
    if text is None:
        return None
    classes = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    fields = (node for cls in classes if cls.name in _CLASSES for node in cls.body)
    return frozenset(name for node in fields if (name := _public_field(node)))


def _source() -> str | None:
    spec = find_spec("vllm")  # of a top-level name: finds it without importing it
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder, "engine", "arg_utils.py")
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None


def _public_field(node: ast.stmt) -> str:
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return ""
    if ast.unparse(node.annotation).startswith(("ClassVar", "typing.ClassVar")):
        return ""
    return "" if node.target.id.startswith("_") else node.target.id
