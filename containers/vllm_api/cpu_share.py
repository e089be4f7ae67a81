"""Which cores an engine computes with, where several on the CPU share a machine.

vLLM binds an engine's threads to cores and gives every engine the same ones, so that
two on a machine of two cores run at half speed while one core idles.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from containers import vllm_api

BINDING = "VLLM_CPU_OMP_THREADS_BIND"
"""vLLM's variable: cores such as ``0-3``, those of several workers apart by ``|``."""


@dataclass(frozen=True, slots=True)
class CpuShare:
    """An engine's part of the cores that vLLM would compute with.

    Attributes:
        index: Which of the engines it is, from 0.
        n_engines: How many engines there are.
    """

    index: int = 0
    n_engines: int = 1

    @contextmanager
    def taken(self, vllm_config: Any) -> Iterator[None]:
        """Let the engine that is started within compute with its own cores only.

        Nothing happens for the only engine, for one that is not on the CPU, and where
        the environment says which cores to take.

        Args:
            vllm_config: Configuration of the engine.
        """
        is_alone = self.n_engines == 1
        is_spread = vllm_config.parallel_config.data_parallel_size > 1
        if is_alone or is_spread or BINDING in os.environ or not _is_on_cpu():
            yield
            return
        os.environ[BINDING] = self.binding(vllm_api.OMPProcessManager(vllm_config))
        try:
            yield
        finally:
            del os.environ[BINDING]

    def binding(self, manager: Any) -> str:
        """Its cores as vLLM is told them.

        Args:
            manager: vLLM's ``OMPProcessManager``, which knows the cores of each worker
                and which are kept free for all that is not computing.
        """
        workers: Sequence[Sequence[int]] = manager.cpu_lists
        if len(workers) == 1 and len(workers[0]) < self.n_engines:
            workers = [[*workers[0], *manager.reserved_cpu_list]]
        return "|".join(
            ",".join(str(cpu) for cpu in self.part_of(cpus)) for cpus in workers
        )

    def part_of(self, cpus: Sequence[int]) -> Sequence[int]:
        """Its own among these, or one that it shares where there are too few."""
        if len(cpus) < self.n_engines:
            return [cpus[self.index % len(cpus)]]
        # Rounded up, so that the first engines get what does not divide.
        first = -(-len(cpus) * self.index // self.n_engines)
        last = -(-len(cpus) * (self.index + 1) // self.n_engines)
        return cpus[first:last]


WHOLE = CpuShare()
"""The share of an engine that is alone: all cores."""


def _is_on_cpu() -> bool:
    is_cpu: bool = vllm_api.current_platform.is_cpu()
    return is_cpu
