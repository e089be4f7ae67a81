"""The application: its settings, a container for each model, and their registry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from dependency_injector import containers, providers

from containers.lifecycle import LoadedContainer, Resource
from containers.model import ModelContainer
from containers.registry import ModelRegistry
from containers.settings import ModelSettings, PerformanceSettings, Settings
from containers.vllm_api.cpu_share import CpuShare
from containers.vllm_api.sharing import EngineSharing


def model_containers(
    *,
    settings: Sequence[ModelSettings],
    performance: PerformanceSettings,
    sharing: EngineSharing,
) -> dict[str, containers.Container]:
    """Declare a container for each model, by its primary name; starts nothing."""
    return {
        model.name: ModelContainer(
            settings=model,
            performance=performance,
            cpu_share=CpuShare(index, n_engines=len(settings)),
            sharing=sharing,
        )
        for index, model in enumerate(settings)
    }


async def started_models(*, registry: ModelRegistry) -> AsyncIterator[ModelRegistry]:
    """Start every model's graph, one after the other.

    Args:
        registry: The models; at least one of them starts, or this fails.

    Yields:
        The same registry; the models stop in reverse order when it closes.
    """
    await registry.start()
    try:
        yield registry
    finally:
        await registry.stop()


class ApplicationContainer(containers.DeclarativeContainer):
    """What an app is made of, above the graph of each model.

    ``application.models()["smollm2"]`` is that model's container, whose providers can
    be overridden until the app starts.
    """

    instance_type = LoadedContainer

    settings = providers.Dependency(instance_of=Settings)

    sharing = providers.Singleton(
        EngineSharing, n_clients=settings.provided.server.frontends
    )

    models = providers.Singleton(
        model_containers,
        settings=settings.provided.models,
        performance=settings.provided.performance,
        sharing=sharing,
    )
    registry = providers.Singleton(
        ModelRegistry,
        models,
        server=settings.provided.server,
    )
    started_models = Resource(
        started_models,
        registry=registry,
    )
