"""New settings for a running app: where they come from, what they pass, who is told."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from dependency_injector import providers
from dependency_injector.containers import Container

from app.metrics import counted
from app.others import Nobody, Others
from app.restart import refuse_another_engine, refuse_what_needs_a_restart
from containers.errors import SettingsError
from containers.file_version import FileVersions
from containers.masks import Secrets
from containers.registry import Change, ModelRegistry
from containers.settings import ServerSettings, Settings
from containers.settings.secrets import secrets_in


class Reloadable(ABC):
    """An application container whose settings can change while it runs.

    Attributes:
        container: The ``ApplicationContainer``.
        check_reload: Called with new server settings before anything is changed to
            them; what it raises leaves all as it was.
        on_reload: Called with the server settings after every reload.
        others: The other front ends of the server.
        load_settings: Reads the settings anew; ``None`` if they have no source.
        setting_files: The files it reads, with the version that was read of each.
        secrets: Those of all settings so far.
    """

    def __init__(self, container: Container) -> None:
        self.container = container
        self.check_reload: Callable[[ServerSettings], None] = lambda _: None
        self.on_reload: Callable[[ServerSettings], None] = lambda _: None
        self.others: Others = Nobody()
        self.load_settings: Callable[[], Settings] | None = None
        self.setting_files: FileVersions = {}
        self.secrets = Secrets()
        self._keep_secrets_of(container.settings())
        self._has_reloaded = False

    @property
    @abstractmethod
    def registry(self) -> ModelRegistry:
        """The models, while requests are taken."""

    async def reload(self, settings: Settings, *, dry_run: bool = False) -> Change:
        """Change to new settings while requests go on, all or nothing.

        Args:
            settings: The new settings.
            dry_run: Whether only to tell what would happen.

        Returns:
            What happened, or would.

        Raises:
            NotReadyError: The app is not ready.
            SettingsError: A key cannot change without a restart.
            StartError: Something did not start; all is as it was before.
        """
        registry = self.registry
        self._keep_secrets_of(settings)
        refuse_what_needs_a_restart(self.container.settings(), settings)
        self.check_reload(settings.server)
        if dry_run or settings.server.frontends > 1:
            planned = await registry.reload(settings, dry_run=True)
            refuse_another_engine(planned, settings.server)
            if dry_run:
                return planned
        with counted(registry.events.reloads):
            change = await registry.reload(settings)
        self._take(settings)
        self.on_reload(settings.server)
        await self.others.reload(settings)
        return change

    def _keep_secrets_of(self, settings: Settings) -> None:
        self.secrets.add(secrets_in(settings.model_dump()))

    def _take(self, settings: Settings) -> None:
        """Show new settings from now on; those before are not kept."""
        if self._has_reloaded:
            self.container.settings.reset_last_overriding()
        self.container.settings.override(providers.Object(settings))
        self._has_reloaded = True

    async def reload_from_source(self, *, dry_run: bool = False) -> Change:
        """Read the settings anew from where they came from, and change to them.

        Raises:
            SettingsError: They are wrong, or did not come from anywhere.
            NotReadyError: The app is not ready.
            StartError: Something did not start; all is as it was before.
        """
        if self.load_settings is None:
            raise SettingsError(
                reason="these settings were made in Python: there is nothing to read",
                hint="Call Service.reload(settings), or serve with vllm-di.",
            )
        settings = await asyncio.to_thread(self.load_settings)
        return await self.reload(settings, dry_run=dry_run)
