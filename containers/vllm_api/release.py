"""Which vLLM is installed, read without importing it."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from containers.errors import VllmMismatchError
from containers.vllm_api.names import SUPPORTED_RELEASES

INSTALL_HINT = (
    "Install one build of it: pip install 'vllm-di[cpu]' without a GPU, "
    "pip install 'vllm-di[cuda]' with one."
)


def package_folder() -> Path | None:
    """Folder of the installed ``vllm`` package, or ``None``; imports nothing."""
    spec = find_spec("vllm")
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


@cache
def installed_version() -> str | None:
    """Version of the installed vLLM, such as ``0.32.0``; ``None`` without one.

    It is read from the package's own ``_version.py``: the CPU build carries the
    metadata of another distribution, so ``importlib.metadata`` does not know it.
    """
    folder = package_folder()
    if folder is None:
        return None
    try:
        source = (folder / "_version.py").read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    return _assigned(ast.parse(source), "__version__") or "unknown"


def release_line() -> str:
    """Supported release line (``major.minor``) of the installed vLLM.

    Raises:
        VllmMismatchError: vLLM is not installed, or is another release than the
            supported ones. Nothing has been imported or started by then.
    """
    version = installed_version()
    if version is None:
        raise VllmMismatchError(
            found=None,
            supported=SUPPORTED_RELEASES,
            reason="vLLM is not installed",
            hint=INSTALL_HINT,
        )
    match = re.match(r"\d+\.\d+", version)
    if match is None or match.group() not in SUPPORTED_RELEASES:
        raise VllmMismatchError(
            found=version,
            supported=SUPPORTED_RELEASES,
            reason="this release of vLLM is not supported",
            hint=INSTALL_HINT,
        )
    return match.group()


def _assigned(module: ast.Module, name: str) -> str | None:
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            targets = {t.id for t in node.targets if isinstance(t, ast.Name)}
            if name in targets:
                return str(node.value.value)
    return None
