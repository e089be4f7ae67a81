"""The engine's processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from containers.graph import Expected
from containers.resources.engine_processes import EngineProcesses
from containers.settings import ModelSettings
from containers.vllm_api.cpu_share import CpuShare
from containers.vllm_api.sharing import ALONE, EngineSharing

EngineCore = Annotated[
    Any,
    Expected(
        "the processes of an engine",
        has=("client", "start", "stop"),
        hint="Override the engine instead: then no processes are started.",
    ),
]


async def engine_core(
    *,
    engine_processes: EngineProcesses,
    settings: ModelSettings,
    vllm_config: Any,
    cpu_share: CpuShare,
    sharing: EngineSharing = ALONE,
) -> AsyncIterator[EngineCore]:
    """Start vLLM's engine processes, which load the model.

    That takes longest, and needs neither tokenizer nor template nor renderer, so it
    goes on beside them. Where one of those fails, the processes are killed.

    Args:
        engine_processes: Where they come from.
        settings: The model's settings.
        vllm_config: Configuration of the engine, which writes into it.
        cpu_share: Its part of the cores, if it computes on the CPU.
        sharing: Who else uses it, and whether another process has started it.

    Yields:
        The processes with vLLM's client of them. They end when it is closed, also when
        the start is cancelled half-way.

    Raises:
        RuntimeError: The engine process failed; its own log lines say why.
    """
    from containers.vllm_api.engine_core import EngineCore

    core = EngineCore(
        vllm_config=vllm_config,
        processes=engine_processes,
        cpu_share=cpu_share,
        sharing=sharing,
        log_stats=not settings.engine.get("disable_log_stats", False),
    )
    if not core.follows_renderer:
        await core.start()
    try:
        yield core
    finally:
        await core.stop()
