"""The application: its settings, a container for each model, and their registry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack

from dependency_injector import containers, providers

from containers.lifecycle import LoadedContainer, Resource, running
from containers.model import ModelContainer
from containers.registry import ModelRegistry
from containers.settings import ModelSettings, ServerSettings, Settings


def model_containers(
    *, settings: Sequence[ModelSettings]
) -> dict[str, containers.Container]:
    """Declare a container for each model, by its primary name; starts nothing."""
    return {model.name: ModelContainer(settings=model) for model in settings}


async def registry(
    *,
    models: Mapping[str, containers.Container],
    server: ServerSettings,
) -> AsyncIterator[ModelRegistry]:
    """Start every model's graph, one after the other.

    Args:
        models: Containers by primary name, the default model first.
        server: Settings that bound how long starting and stopping may take.

    Yields:
        The registry of running models; they stop in reverse order when it closes.
    """
    async with AsyncExitStack() as stack:
        started = [
            await stack.enter_async_context(
                running(
                    container,
                    timeout_s=server.start_timeout_s,
                    resource_timeout_s=server.resource_start_timeout_s,
                    stop_timeout_s=server.stop_timeout_s,
                )
            )
            for container in models.values()
        ]
        yield ModelRegistry(started)


class ApplicationContainer(containers.DeclarativeContainer):
    """What an app is made of, above the graph of each model.

    ``application.models()["smollm2"]`` is that model's container, whose providers can
    be overridden until the app starts.
    """

    instance_type = LoadedContainer

    settings = providers.Dependency(instance_of=Settings)

    models = providers.Singleton(
        model_containers,
        settings=settings.provided.models,
    )
    registry = Resource(
        registry,
        models=models,
        server=settings.provided.server,
    )
