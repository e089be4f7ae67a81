"""The settings of a front end that does not own the engine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dependency_injector import providers
from dependency_injector.containers import Container

from containers.application import ApplicationContainer
from containers.settings import Settings
from containers.vllm_api.sharing import EngineSharing, Place

Making = Callable[[Settings], Container]


def of_front_end(settings: Settings) -> Settings:
    """Settings without what the owner of the engine does for all front ends.

    Args:
        settings: The server's.
    """
    models = [each.model_copy(update={"canary": None}) for each in settings.models]
    performance = settings.performance.model_copy(update={"fast_start": False})
    server = settings.server.model_copy(update={"reload_on_change": False})
    return settings.model_copy(
        update={"models": models, "performance": performance, "server": server}
    )


def application_of(settings: Settings) -> Container:
    """What ``vllm-di serve`` serves."""
    return ApplicationContainer(settings=settings)


def container_of(settings: Settings, place: Place | None, made_by: str) -> Container:
    """Container of a front end, not started.

    Args:
        settings: Its settings.
        place: Its place at the engine; ``None`` where the container has a double.
        made_by: ``module:function`` of what makes a container of settings.
    """
    module, _, name = made_by.partition(":")
    making: Making = getattr(import_module(module), name)
    container = making(settings)
    if place is not None:
        sharing = EngineSharing(settings.server.frontends, place)
        container.sharing.override(providers.Object(sharing))
    return container
