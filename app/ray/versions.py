"""What of the settings takes new replicas; all else they change to while they serve."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from app.ray.narrowing import OF_THE_INGRESS
from app.restart import FIXED
from containers.settings import ModelSettings, Settings
from containers.settings.engine import revealed
from containers.settings.secrets import in_clear
from containers.version import __version__
from containers.vllm_api import installed_version


def model_version(settings: Settings, model: ModelSettings) -> str:
    """Version of a model's deployment: another one replaces its replicas."""
    server = [name for name in FIXED if name not in OF_THE_INGRESS]
    return _digest(
        _of_server(settings, server),
        settings.server.has_admin_keys,
        settings.performance.model_dump(),
        settings.ray.container,
        model.name,
        model.source,
        revealed(model.engine),
        model.chat.tool_parser_plugin,
        model.chat.enable_log_requests,
    )


def ingress_version(settings: Settings) -> str:
    """Version of the ingress' deployment."""
    return _digest(
        _of_server(settings, FIXED),
        settings.server.wants_key,
        settings.server.has_admin_keys,
        settings.server.open_paths,
        [model.name for model in settings.models],
    )


def _of_server(settings: Settings, names: Any) -> dict[str, Any]:
    return {name: getattr(settings.server, name) for name in names}


def _digest(*parts: Any) -> str:
    versions = [__version__, installed_version()]
    text = json.dumps([versions, in_clear(list(parts))], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
