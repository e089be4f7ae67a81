"""The environment of a fork server, and when it is no longer the right one.

Most variables are read when they are needed, so a fork that takes them on is as good
as a process started with them. Others count while libraries are loaded and modules
imported. When one of those has changed, that server has to be replaced.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

READ_EARLY = (
    *("LD_", "GLIBC_", "MALLOC_", "PYTHON", "LANG", "LC_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "DNNL_", "ONEDNN_", "ATEN_"),
    *("TORCH", "PYTORCH_", "TRITON_", "CUDA_", "HIP_", "ROCR_", "NCCL_"),
    *("VLLM_", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "SAFETENSORS_"),
    *("HOME", "XDG_", "TMPDIR"),
)
"""How the names of variables begin that may be read at load or import."""

READ_LATE = (
    "VLLM_CPU_",
    "VLLM_DIST_IDENT",
    "VLLM_DISABLE_SHARED_EXPERTS_STREAM",
    "VLLM_RPC_BASE_PATH",
    "VLLM_SSM_CONV_STATE_LAYOUT",
    "VLLM_WORKER_MULTIPROC_METHOD",
)
"""Beginnings of those among them that vLLM reads while an engine starts."""

ON_CPU = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_DYNAMIC_THREADS": "1",
}
"""What vLLM sets for an engine on the CPU, before it starts its processes.

Source:
    vllm/platforms/cpu.py ``CpuPlatform.check_and_update_config`` (0.32.0).
"""

PRELOAD = "LD_PRELOAD"
OPENMP_LIBRARIES = ("libomp", "libgomp", "libiomp")


def starting_environment(*, on_cpu: bool) -> dict[str, str]:
    """This process' environment with what vLLM will add to it for its engines."""
    environment = dict(os.environ)
    if on_cpu:
        environment |= ON_CPU
        preload = environment.get(PRELOAD, "")
        library = _torch_openmp()
        if library and not any(name in preload for name in OPENMP_LIBRARIES):
            environment[PRELOAD] = f"{preload}:{library}" if preload else library
    return environment


def outdated(server: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of variables that a process started now would have read otherwise.

    Args:
        server: Environment of the fork server, after its imports.
        now: Environment the fork is to have.
    """
    return sorted(
        name
        for name in {*server, *now}
        if name.startswith(READ_EARLY)
        and not name.startswith(READ_LATE)
        and _meaning(name, server) != _meaning(name, now)
    )


def _meaning(name: str, environment: Mapping[str, str]) -> object:
    """A value, but of a list of folders what a search in it finds.

    A library that puts its folder in front at import does so again in every child.
    """
    value = environment.get(name)
    if value is None or not name.endswith("PATH"):
        return value
    return list(dict.fromkeys(value.split(os.pathsep)))


def _torch_openmp() -> str:
    """Path of the libgomp that comes with torch, as vLLM finds it, or nothing."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    package = Path(spec.origin).parent
    for folder in (package.parent / "torch.libs", package / "lib"):
        for library in folder.glob("libgomp*.so*"):
            return str(library)
    return ""
