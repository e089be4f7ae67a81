"""The ``performance`` section: ways to be faster, each of which can be turned off."""

from __future__ import annotations

from typing import Literal

from containers.settings.section import Section


class PerformanceSettings(Section):
    """Ways to be faster that vLLM's own server does not take.

    Attributes:
        fast_start: Whether engine processes are forked from one that has imported vLLM
            already, instead of each importing it anew; `auto` does so for engines on
            the CPU. Where it would not be safe, vLLM's own method is used anyway.
    """

    fast_start: Literal["auto"] | bool = "auto"
