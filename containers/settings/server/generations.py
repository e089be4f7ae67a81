"""How models change, and heal, while the server goes on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from containers.settings.section import Section


class GenerationSettings(Section):
    """How models are reloaded, healed, loaded on demand, and let go.

    Attributes:
        reload_on_change: Whether the settings are reloaded when one of their files, or
            the file of a chat template, has changed.
        engine_reload: How a reload that needs a new engine goes about it:
            ``stop_first`` ends the old one and answers 503 until the new one is ready,
            ``start_first`` has both for a while, which takes the memory of both.
        heal_attempts: How often to try to replace an engine that has died, 0 or more;
            then, and with 0, its model is given up.
        heal_backoff_s: Seconds before the second try, above 0; doubled before each
            further one.
        load_wait_s: Seconds a request waits for its model to load, 0 or more; then it
            is answered 503, and the loading goes on. Streams get comment lines
            meanwhile.
        memory_budget_gib: GiB all loaded models may take together, above 0; where
            another one is asked for, those used least recently go first. Each model
            says what it takes as ``memory_gib``. ``None`` for no budget.
    """

    reload_on_change: bool = False
    engine_reload: Literal["stop_first", "start_first"] = "stop_first"
    heal_attempts: Annotated[int, Field(ge=0)] = 0
    heal_backoff_s: Annotated[float, Field(gt=0)] = 1.0
    load_wait_s: Annotated[float, Field(ge=0)] = 120.0
    memory_budget_gib: Annotated[float, Field(gt=0)] | None = None
