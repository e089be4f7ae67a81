"""The engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Annotated, Any

from containers.graph import Expected
from containers.resources.engine_core import EngineCore
from containers.settings import ModelSettings
from containers.vllm_api.sharing import ALONE, EngineSharing

EngineClient = Annotated[
    Any,
    Expected(
        "an engine client",
        has=("generate", "encode", "abort", "check_health"),
        hint="Override it with an engine, or with FakeEngine of containers.testing.",
    ),
]


async def engine(
    *,
    engine_core: EngineCore,
    settings: ModelSettings,
    vllm_config: Any,
    renderer: Any,
    sharing: EngineSharing = ALONE,
) -> AsyncIterator[EngineClient]:
    """Make vLLM's engine of its processes and the injected renderer.

    Args:
        engine_core: Its processes; those that had to wait for the renderer start now.
        settings: The model's settings.
        vllm_config: Configuration; the engine writes into it.
        renderer: The renderer the engine uses for its own prompts.
        sharing: Who else uses it, and whether another process has started it.

    Yields:
        vLLM's ``AsyncLLM``, ready to generate. Its processes end when it is closed.

    Raises:
        RuntimeError: The engine process failed; its own log lines say why.
    """
    from containers.vllm_api.engine import EngineStart, start_engine, stop_engine
    from containers.vllm_api.statistics import count_tool_calls, statistics_logged

    log_stats = not settings.engine.get("disable_log_stats", False)
    await engine_core.start()
    start = EngineStart(
        core=engine_core,
        vllm_config=vllm_config,
        renderer=renderer,
        sharing=sharing,
        log_requests=settings.chat.enable_log_requests,
        log_stats=log_stats,
        aggregate_logging=settings.engine.get("aggregate_engine_logging", False),
    )
    if settings.chat.tool_call_parser is not None:
        count_tool_calls(settings.name)
    started = await start_engine(start)
    try:
        async with statistics_logged(started) if log_stats else nullcontext():
            yield started
    finally:
        await stop_engine(started)
