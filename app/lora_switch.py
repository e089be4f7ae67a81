"""Whether adapters may come and go while a server runs."""

import os

from containers.settings import ServerSettings

VARIABLE = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"


def is_enabled(server: ServerSettings) -> bool:
    """Whether the settings, or else vLLM's own variable, let adapters come and go.

    Source:
        vllm/envs.py (0.32.0), for how the variable is read.
    """
    if server.enable_runtime_lora is not None:
        return server.enable_runtime_lora
    return os.environ.get(VARIABLE, "").strip().lower() in {"1", "true"}
