"""Where the engine's processes come from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from containers.graph import Expected
from containers.settings import PerformanceSettings

EngineProcesses = Annotated[
    Any,
    Expected(
        "a source of engine processes",
        has=("for_engine",),
        hint="Override it with EngineProcesses of containers.vllm_api.",
    ),
]


async def engine_processes(
    *, settings: PerformanceSettings
) -> AsyncIterator[EngineProcesses]:
    """Have engine processes at hand, so that an engine need not wait for imports.

    A fork server begins to import vLLM's engine modules in the background, while this
    process imports its own. All containers of this process share it.

    Args:
        settings: Whether to fork at all.

    Yields:
        What an engine is started with, any number of times. The fork server ends when
        nobody needs it any more, and with this process at the latest.
    """
    from containers.vllm_api.engine_processes import EngineProcesses

    with EngineProcesses(fast_start=settings.fast_start).held() as processes:
        yield processes
