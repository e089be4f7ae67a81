"""Which vLLM is installed, read without importing it."""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from containers.errors import VllmMismatchError
from containers.vllm_api.builds import half_installed
from containers.vllm_api.names import SUPPORTED_RELEASES

ALLOW_UNSUPPORTED = "VLLM_DI_ALLOW_UNSUPPORTED_VLLM"
"""Environment variable; ``1`` tries a vLLM that is not supported as the newest one."""

INSTALL_HINT = (
    "Install one build of it: pip install 'vllm-di[cpu]' without a GPU, "
    "pip install 'vllm-di[cuda]' with one."
)
ADD_HINT = (
    "It is not supported, and differs here: docs/vllm_releases.md says how to add it. "
    f"{INSTALL_HINT}"
)
TRY_HINT = (
    "Or try this one all the same: vllm-di serve --allow-unsupported-vllm, or the "
    f"environment variable {ALLOW_UNSUPPORTED}=1."
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
        module = ast.parse((folder / "_version.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return "unknown"
    return _assigned(module, "__version__") or "unknown"


def release_line() -> str:
    """Supported release line (``major.minor``) whose tables the door goes by.

    That of the installed vLLM; the newest one for a vLLM that is not supported and
    allowed all the same (``VLLM_DI_ALLOW_UNSUPPORTED_VLLM=1``).

    Raises:
        VllmMismatchError: vLLM is not installed, is half installed, or is another
            release than the supported ones. Nothing has been imported or started.
    """
    version = installed_version()
    if version is None:
        raise mismatch("vLLM is not installed", INSTALL_HINT)
    problem = half_installed()
    if problem is not None:
        raise mismatch(*problem)
    if is_supported() or os.environ.get(ALLOW_UNSUPPORTED) == "1":
        return nearest_line()
    raise mismatch(_unsupported(version), f"{INSTALL_HINT} {TRY_HINT}")


def nearest_line() -> str:
    """Release line whose tables fit the installed vLLM best; never raises."""
    line = _line(installed_version() or "")
    return line if line in SUPPORTED_RELEASES else SUPPORTED_RELEASES[-1]


def is_supported() -> bool:
    """Whether the installed vLLM is of a release line that we know, or absent."""
    version = installed_version()
    return version is None or _line(version) in SUPPORTED_RELEASES


def mismatch(reason: str, hint: str) -> VllmMismatchError:
    """The error that says so, of the vLLM that is installed."""
    return VllmMismatchError(
        found=installed_version(),
        supported=SUPPORTED_RELEASES,
        reason=reason,
        hint=hint,
    )


def _line(version: str) -> str:
    match = re.match(r"\d+\.\d+", version)
    return match.group() if match else ""


def _unsupported(version: str) -> str:
    found = [int(part) for part in re.findall(r"\d+", _line(version))]
    oldest, *_, newest = (
        [int(part) for part in line.split(".")] for line in SUPPORTED_RELEASES
    )
    if found and found < oldest:
        return "this vLLM is older than the oldest supported release"
    if found and found > newest:
        return "this vLLM is newer than the newest supported release"
    return "this release of vLLM is not supported"


def _assigned(module: ast.Module, name: str) -> str | None:
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            targets = {t.id for t in node.targets if isinstance(t, ast.Name)}
            if name in targets:
                return str(node.value.value)
    return None
