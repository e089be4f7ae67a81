"""How models change, and heal, while the server goes on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from containers.settings.section import Section


class GenerationSettings(Section):
    """What happens when settings are reloaded, and when an engine dies.

    Attributes:
        engine_reload: How a reload that needs a new engine goes about it:
            ``stop_first`` ends the old one and answers 503 until the new one is ready,
            ``start_first`` has both for a while, which takes the memory of both.
        heal_attempts: How often to try to replace an engine that has died, 0 or more;
            then, and with 0, its model is given up.
        heal_backoff_s: Seconds before the second try, above 0; doubled before each
            further one.
    """

    engine_reload: Literal["stop_first", "start_first"] = "stop_first"
    heal_attempts: Annotated[int, Field(ge=0)] = 0
    heal_backoff_s: Annotated[float, Field(gt=0)] = 1.0
