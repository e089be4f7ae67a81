"""What the installed PyTorch can do, told without importing it."""

from __future__ import annotations

import ast
import sys
from importlib.util import find_spec
from pathlib import Path

KINDS = {"cuda": "CUDA", "hip": "ROCm", "xpu": "XPU"}


def accelerator() -> str:
    """Name of the accelerator it was built for, or an empty string for the CPU."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    try:
        source = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    return accelerator_in(source)


def accelerator_in(source: str) -> str:
    """The same, from the text of torch's ``version.py``."""
    for node in ast.parse(source).body:
        name, value = _assignment(node)
        if name in KINDS and value is not None:
            return KINDS[name]
    return ""


def initialised_accelerator() -> str:
    """Name of the accelerator this process has begun to use, or an empty string."""
    torch = sys.modules.get("torch")
    for name in ("cuda", "xpu"):
        device = getattr(torch, name, None)
        if device is not None and device.is_initialized():
            return name.upper()
    return ""


def _assignment(node: ast.stmt) -> tuple[str, object]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=value)):
            return name, value
    return "", None
