"""Whether an engine's processes may be forked, and if not, why not.

Each question answers with a reason, as the end of a sentence, or with an empty string.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
from pathlib import Path
from typing import Any, Literal

from containers.vllm_api.forkserver.environment import PRELOAD
from containers.vllm_api.forkserver.torch_build import (
    accelerator,
    initialised_accelerator,
)

FastStart = Literal["auto"] | bool

METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
SETTING = "performance.fast_start"
INTEL_OPENMP = ("libiomp", "libomp")


def reason_before_start(fast_start: FastStart) -> str:
    """Why no fork server should be started in this process."""
    if fast_start is False:
        return f"{SETTING} is false"
    reasons = (_platform(), _user(), _surroundings(), _build(fast_start))
    return next((reason for reason in reasons if reason), "")


def reason_for(vllm_config: Any, fast_start: FastStart) -> str:
    """Why the engine of this configuration should not be forked, now that it starts."""
    if initialised := initialised_accelerator():
        return f"{initialised} is initialized in this process"
    device = vllm_config.device_config.device_type
    if fast_start == "auto" and device != "cpu":
        return f"the engine runs on {device}; {SETTING}: true forks it too"
    parallel = vllm_config.parallel_config
    if parallel.numa_bind:
        return "binding to NUMA nodes needs processes of their own"
    if parallel.distributed_executor_backend not in (None, "mp", "uni"):
        return f"the executor is {parallel.distributed_executor_backend}"
    if parallel.data_parallel_size > 1 or parallel.nnodes > 1:
        return "the engine has several replicas or nodes"
    return _surroundings()


def _platform() -> str:
    if not (sys.platform == "linux" and hasattr(signal, "pidfd_send_signal")):
        return "it needs Linux"
    # As vLLM recognises it (vllm/utils/platform_utils.py ``in_wsl``, 0.32.0).
    if "microsoft" in " ".join(platform.uname()).lower():
        return "this is WSL"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return f"this kernel gives no handles of processes ({error})"
    if getattr(sys, "frozen", False) or not sys.executable:
        return "this is no ordinary Python interpreter"
    return ""


def _user() -> str:
    if _set_by_user(METHOD):
        return f"{METHOD} is set"
    if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0":
        return "VLLM_ENABLE_V1_MULTIPROCESSING is 0"
    if "--numa-bind" in sys.argv:
        return "binding to NUMA nodes needs processes of their own"
    if any(name in os.environ.get(PRELOAD, "") for name in INTEL_OPENMP):
        return f"{PRELOAD} holds another OpenMP than GNU's"
    return ""


def _set_by_user(name: str) -> bool:
    """Whether a variable was not put there by vLLM, which does so on the CPU."""
    if name not in os.environ:
        return False
    at_birth = Path("/proc/self/environ").read_bytes().split(b"\0")
    is_inherited = any(entry.startswith(f"{name}=".encode()) for entry in at_birth)
    return (
        is_inherited
        or os.environ[name] != "spawn"
        or "vllm.platforms" not in sys.modules
    )


def _surroundings() -> str:
    # A folder that happens to have this name is an empty module to Python.
    ray = sys.modules.get("ray")
    if ray is not None and getattr(ray, "is_initialized", bool)():
        context = ray.get_runtime_context()
        if context.get_actor_id() is not None:
            return "this is a Ray actor"
    return ""


def _build(fast_start: FastStart) -> str:
    kind = accelerator()
    if fast_start == "auto" and kind:
        return (
            f"the installed PyTorch is built for {kind}; {SETTING}: true forks "
            "there too"
        )
    if kind and (initialised := initialised_accelerator()):
        return f"{initialised} is initialized in this process"
    return ""
