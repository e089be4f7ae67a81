"""OpenMP's threads in a fork, as its variables ask for.

libgomp reads ``OMP_NUM_THREADS`` and ``GOMP_CPU_AFFINITY`` when it is loaded, which in
a fork was long ago; vLLM sets them around the start of each of its CPU workers. The
number of threads is set through torch, and each thread is bound from inside.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping, Sequence

COUNT = "OMP_NUM_THREADS"
AFFINITY = "GOMP_CPU_AFFINITY"
PLACES = "OMP_PLACES"
NAMES = (COUNT, AFFINITY, PLACES)

_Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def follow_variables(now: Mapping[str, str], at_load: Mapping[str, str]) -> None:
    """Set up OpenMP as if it were loaded now.

    Args:
        now: Environment of this process.
        at_load: Environment in which this process' libraries were loaded.
    """
    changed = {n: now[n] for n in NAMES if n in now and now[n] != at_load.get(n)}
    if not changed:
        return
    import torch

    cpus = cpu_list(changed.get(AFFINITY, ""))
    place = cpu_list(changed.get(PLACES, ""))
    n_threads = int(now.get(COUNT) or len(cpus) or torch.get_num_threads())
    if place:
        os.sched_setaffinity(0, place)
    if cpus:
        os.sched_setaffinity(0, {cpus[0]})
    torch.set_num_threads(n_threads)
    if len(cpus) > 1 and n_threads > 1:
        bind_threads(cpus, n_threads)


def cpu_list(text: str) -> list[int]:
    """Numbers in a list of CPUs such as ``0 2-4`` or ``{0,1}``, in their order."""
    cpus: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def bind_threads(cpus: Sequence[int], n_threads: int) -> None:
    """Start libgomp's threads, and bind the first to the first CPU, and so on."""
    # Not libgomp by its name: torch brings one of its own, which is loaded already.
    library = ctypes.CDLL(None)

    def bind(_: int | None) -> None:
        number = library.omp_get_thread_num()
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})

    library.GOMP_parallel(_Body(bind), None, n_threads, 0)
