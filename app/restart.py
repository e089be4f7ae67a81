"""Settings that a running server cannot change."""

from __future__ import annotations

from containers.errors import SettingsError
from containers.registry import Change
from containers.settings import ServerSettings, Settings
from containers.settings.server.browsers import BrowserSettings
from containers.settings.server.listening import ListeningSettings
from containers.settings.server.observing import ObservationSettings
from containers.settings.server.surface import SurfaceSettings
from containers.settings.server.tls import TlsSettings

FIXED = tuple(
    name
    for section in (
        ListeningSettings,
        TlsSettings,
        BrowserSettings,
        SurfaceSettings,
        ObservationSettings,
    )
    for name in section.model_fields
)
"""Keys of ``server`` that are read once."""


def refuse_what_needs_a_restart(old: Settings, new: Settings) -> None:
    """Return when nothing differs that is fixed at the start.

    Keys may change, but not whether there are any: routes stand by that.

    Raises:
        SettingsError: Something does; it names the key.
    """
    for name in (*FIXED, "frontends", "open_paths", "wants_key", "has_admin_keys"):
        if getattr(old.server, name) != getattr(new.server, name):
            key = {"wants_key": "api_keys", "has_admin_keys": "admin_keys"}
            raise _refusal(f"server.{key.get(name, name)}")
    for name in type(old.performance).model_fields:
        if getattr(old.performance, name) != getattr(new.performance, name):
            raise _refusal(f"performance.{name}")
    if new.server.frontends > 1:
        for index, (before, after) in enumerate(
            zip(old.models, new.models, strict=False)
        ):
            if before.lora != after.lora:
                raise _refusal(f"models.{index}.lora", FIXED_BY_FRONTENDS)


FIXED_BY_FRONTENDS = "has changed, and with server.frontends it stays as it was"


def refuse_another_engine(change: Change, server: ServerSettings) -> None:
    """Return when a change leaves an engine that several processes use alone.

    Raises:
        SettingsError: It does not; it names the key.
    """
    if server.frontends == 1:
        return
    if change.added or change.removed:
        raise _refusal("models", FIXED_BY_FRONTENDS)
    if any(plan.restarts_engine for plan in change.plans):
        raise _refusal("models.0.engine", FIXED_BY_FRONTENDS)


def _refusal(
    key: str, reason: str = "has changed, and a running server keeps it"
) -> SettingsError:
    return SettingsError(
        key=key,
        reason=reason,
        hint="Restart the server, or take the change back.",
    )
