"""The whole suite, or a part of it, with what ``performance`` offers turned off."""

from __future__ import annotations

import os
from typing import Any

from containers import ModelContainer, Settings
from containers.settings import PerformanceSettings

OFF: dict[str, Any] = {
    "fast_start": False,
    "fast_streams": False,
    "short_prompt_max_chars": 0,
    "shared_writes": False,
}


def turn_off() -> None:
    """Make that the default, in this process and in servers that tests start."""
    for name, value in OFF.items():
        os.environ[f"VLLM_DI__PERFORMANCE__{name.upper()}"] = str(value).lower()
        PerformanceSettings.model_fields[name].default = value
    PerformanceSettings.model_rebuild(force=True)
    Settings.model_fields["performance"].default = PerformanceSettings()
    Settings.model_rebuild(force=True)
    ModelContainer.performance.set_default(PerformanceSettings())
