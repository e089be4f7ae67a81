"""The engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from containers.graph import Expected
from containers.settings import ModelSettings

EngineClient = Annotated[
    Any,
    Expected(
        "an engine client",
        has=("generate", "encode", "abort", "check_health"),
        hint="Override it with an engine, or with FakeEngine of containers.testing.",
    ),
]


async def engine(
    *, settings: ModelSettings, vllm_config: Any, renderer: Any
) -> AsyncIterator[EngineClient]:
    """Start vLLM's engine process around the injected renderer.

    Args:
        settings: The model's settings.
        vllm_config: Configuration; the engine writes into it.
        renderer: The renderer the engine uses for its own prompts.

    Yields:
        vLLM's ``AsyncLLM``, ready to generate. Its processes end when it is closed,
        also when the start is cancelled half-way.

    Raises:
        RuntimeError: The engine process failed; its own log lines say why.
    """
    from containers.vllm_api.engine import EngineStart, start_engine, stop_engine

    start = EngineStart(
        vllm_config=vllm_config,
        renderer=renderer,
        log_requests=settings.chat.enable_log_requests,
        log_stats=not settings.engine.get("disable_log_stats", False),
    )
    started = await start_engine(start)
    try:
        yield started
    finally:
        await stop_engine(started)
