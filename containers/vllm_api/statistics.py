"""What vLLM's own server does for an engine's statistics, beside the engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from time import monotonic
from typing import Any


@asynccontextmanager
async def statistics_logged(engine: Any) -> AsyncIterator[None]:
    """Log an engine's statistics every ``VLLM_LOG_STATS_INTERVAL`` seconds (10).

    vLLM counts throughput from one such call to the next; without them no line of
    statistics is ever logged.

    Source:
        vllm/entrypoints/launchers/utils/server_utils.py ``lifespan`` (0.32.0).
    """
    task = asyncio.create_task(_log_for_ever(engine), name="statistics of an engine")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


async def _log_for_ever(engine: Any) -> None:
    envs = import_module("vllm.envs")
    while True:
        await asyncio.sleep(envs.VLLM_LOG_STATS_INTERVAL)
        await engine.do_log_stats()


def note_when_heard(engine: Any) -> None:
    """Keep, as its ``vllm_di_heard_at``, when an engine last told how it stands.

    An engine of several clients tells one of them at a time. The time is that of the
    machine's monotonic clock, in seconds.

    Source:
        vllm/v1/engine/async_llm.py ``_run_output_handler`` (0.31.0 to 0.33.0), which
        gives what it hears to ``logger_manager.record``.
    """
    manager = engine.logger_manager
    if manager is None:
        return
    record = manager.record

    def record_and_note(*args: Any, **kwargs: Any) -> None:
        if args or kwargs.get("scheduler_stats") is not None:
            engine.vllm_di_heard_at = monotonic()
        record(*args, **kwargs)

    engine.vllm_di_heard_at = 0.0
    manager.record = record_and_note


def count_tool_calls(model_name: str) -> None:
    """Let vLLM count what its tool parsers find, for ``/metrics``.

    A release without such a counter is left as it is. vLLM keeps one counter with one
    model's name in a process: where several models have a tool parser, it bears the
    name of the one that started last.

    Source:
        vllm/entrypoints/launchers/api_server/app_state.py ``init_app_state`` (0.32.0).
    """
    with contextlib.suppress(ImportError):
        metrics = import_module("vllm.parser.metrics")
        metrics.init_parser_metrics(model_name=model_name)


def heard_at_s(engine: Any) -> float:
    """When an engine last told how it stands, by the monotonic clock; 0 for never."""
    return float(getattr(engine, "vllm_di_heard_at", 0.0))
