"""What a replica serves: the usual container, or one that somebody else makes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from dependency_injector.containers import Container

from containers.application import ApplicationContainer
from containers.errors import SettingsError
from containers.settings import Settings

KEY = "ray.container"


def container_of(settings: Settings) -> Container:
    """Container of a replica's app, not started.

    Args:
        settings: Settings of this replica, with its one model.

    Raises:
        SettingsError: What ``ray.container`` names cannot be imported.
    """
    if settings.ray.container is None:
        return ApplicationContainer(settings=settings)
    container: Container = imported(settings.ray.container)(settings)
    return container


def imported(path: str) -> Callable[[Settings], Any]:
    """The function at ``package.module:function``.

    Raises:
        SettingsError: There is none.
    """
    module, _, name = path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            key=KEY,
            reason=f"is {path}, which cannot be imported: {error}",
            hint="It has to be importable in every node of the cluster.",
        ) from error
    if not callable(found):
        raise SettingsError(key=KEY, reason=f"is {path}, which is no function")
    return found  # type: ignore[no-any-return]  # what the settings promise
