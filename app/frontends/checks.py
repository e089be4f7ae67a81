"""What the environment asks for that several front ends cannot have."""

from __future__ import annotations

import os

from app.lora_switch import VARIABLE, is_enabled
from containers.errors import SettingsError
from containers.settings import ServerSettings

KEY = "server.frontends"
STORE = "VLLM_ENABLE_RESPONSES_API_STORE"


def refuse_by_environment(server: ServerSettings) -> None:
    """Return when several front ends can be as the environment has it.

    Raises:
        SettingsError: They cannot; it names the variable.
    """
    if server.frontends == 1:
        return
    if is_enabled(server):
        raise SettingsError(
            key=KEY,
            reason=f"cannot be, for {VARIABLE} would load adapters for one of them",
            hint="Unset the variable, or write server.enable_runtime_lora: false.",
        )
    if os.environ.get(STORE) == "1":
        raise SettingsError(
            key=KEY,
            reason=f"cannot be, for {STORE} stores responses in one of them",
            hint="Unset the variable, or leave server.frontends out.",
        )
