"""Settings that a running server cannot change."""

from __future__ import annotations

from containers.errors import SettingsError
from containers.settings import Settings
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
    for name in (*FIXED, "open_paths", "wants_key", "has_admin_keys"):
        if getattr(old.server, name) != getattr(new.server, name):
            key = {"wants_key": "api_keys", "has_admin_keys": "admin_keys"}
            raise _refusal(f"server.{key.get(name, name)}")
    for name in type(old.performance).model_fields:
        if getattr(old.performance, name) != getattr(new.performance, name):
            raise _refusal(f"performance.{name}")


def _refusal(key: str) -> SettingsError:
    return SettingsError(
        key=key,
        reason="has changed, and a running server keeps it",
        hint="Restart the server, or take the change back.",
    )
