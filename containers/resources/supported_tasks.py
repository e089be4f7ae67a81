"""What the model can do."""

from __future__ import annotations

from typing import Annotated, Any

from containers.graph import Expected

SupportedTasks = Annotated[
    tuple[str, ...], Expected("a tuple of tasks", hint='Such as ("generate",).')
]


async def supported_tasks(*, engine: Any, vllm_config: Any) -> SupportedTasks:
    """Ask the engine what its model can do, in vLLM's words.

    Args:
        engine: Client of a started engine. A double that says nothing of its tasks
            stands for whatever the configuration makes of the model.
        vllm_config: Configuration of the engine.

    Returns:
        Tasks such as ``generate``, ``embed``, ``classify`` or ``transcription``, which
        decide what serving objects there are.

    Source:
        vllm/tasks.py ``SupportedTask`` (0.32.0).
    """
    from containers.vllm_api.tasks import configured_tasks

    tasks = tuple(await engine.get_supported_tasks())
    return tasks or configured_tasks(vllm_config)
