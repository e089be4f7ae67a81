"""The part of an application's settings that one replica of a model needs."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from containers.errors import SettingsError
from containers.settings import ApiKey, ServerSettings, Settings

OF_THE_INGRESS = (
    "api_keys",
    "api_keys_file",
    "admin_keys",
    "admin_keys_file",
    "open_paths",
    "max_concurrent_requests_per_key",
    "max_requests_per_minute_per_key",
    "max_body_bytes",
    "body_timeout_s",
    "request_timeout_s",
    "max_concurrent_requests",
    "middleware",
    "enable_request_id_headers",
    "ui",
    "allowed_origins",
    "allow_credentials",
)
"""Keys of ``server`` that the ingress sees to, or nobody: a page shows one process."""


def settings_of_replica(settings: Settings, name: str, *, admin_key: str) -> Settings:
    """Settings of an app that serves one model, and trusts what the ingress lets pass.

    Args:
        settings: Those of the whole application.
        name: Primary name of the model.
        admin_key: What routes for administrators want, where there are such.

    Raises:
        SettingsError: No model has that name any more.
    """
    models = [model for model in settings.models if model.name == name]
    if not models:
        raise SettingsError(
            key="models",
            reason=f"has none that is named {name} first, which this deployment serves",
            hint="Deploy the application anew to rename a model.",
        )
    fields = ServerSettings.model_fields
    server: dict[str, Any] = {
        key: fields[key].get_default(call_default_factory=True)
        for key in OF_THE_INGRESS
    }
    server |= {"max_body_bytes": None, "body_timeout_s": None}
    if settings.server.has_admin_keys:
        key = ApiKey(name="the ingress", key=SecretStr(admin_key))
        server["admin_keys"] = (key,)
    return settings.model_copy(
        update={"server": settings.server.model_copy(update=server), "models": models}
    )
