"""One picture of a server: its models, their resources, what went wrong."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import cache
from typing import Any

from app.service import Service
from app.status.graph import resources
from app.status.offers import generates, model_offers, offers
from containers.lifecycle import lifecycle_of
from containers.masks import masked
from containers.registry import ServedModel
from containers.settings.secrets import hidden
from containers.version import __version__
from containers.vllm_api import installed_version
from containers.vllm_api.figures import engine_figures


def picture(service: Service) -> dict[str, Any]:
    """How the server stands now, as JSON has it; times are seconds since the epoch."""
    return {
        "at": time.time(),
        "versions": versions(),
        "phase": service.state,
        "trouble": service.trouble,
        "n_changes": service.n_changes,
        "began_at": time.time() - service.elapsed_s,
        "error": None if service.error is None else masked(service.error),
        "offers": offers(service),
        "models": [_model(service, model) for model in service.models],
        "troubles": _troubles(service),
    }


@cache
def versions() -> dict[str, str | None]:
    """What is installed: of vLLM it is read from a file, once."""
    return {"vllm-di": __version__, "vllm": installed_version()}


def figures(service: Service) -> dict[str, Any]:
    """What changes all the time: requests, queue, KV cache and tokens by model.

    A model whose engine measures nothing, as while it is not loaded, is not there.
    """
    measured = engine_figures()
    return {
        "at": time.time(),
        "in_flight": service.flights.n,
        "models": {
            model.name: asdict(measured[model.name])
            for model in service.models
            if model.name in measured
        },
    }


def stamp(service: Service) -> tuple[Any, ...]:
    """Differs when a new :func:`picture` would show anything else; cheap to make."""
    return (
        service.state,
        service.n_changes,
        service.troubles.recent,
        tuple(_stamp(service, model) for model in service.models),
    )


def _stamp(service: Service, model: ServedModel) -> tuple[Any, ...]:
    return (
        model.name,
        model.state,
        service.trouble_of(model),
        model.generation.number,
        tuple(model.adapters),
        tuple(lifecycle_of(model.container).records.values()),
    )


def _model(service: Service, model: ServedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "names": model.settings.names,
        "source": str(hidden("source", model.settings.source)),
        "state": model.state,
        "trouble": service.trouble_of(model),
        "error": None if model.error is None else masked(model.error),
        "generation": model.generation.number,
        "history": [asdict(record) for record in model.history],
        "adapters": list(model.adapters),
        "generates": generates(model),
        "offers": model_offers(model),
        "resources": resources(model.generation),
    }


def _troubles(service: Service) -> list[dict[str, Any]]:
    names = [model.name for model in service.models]
    return [
        {
            "at": trouble.at,
            "level": trouble.level,
            "model": next((name for name in names if name in trouble.words), ""),
            "provider": trouble.provider,
            "text": trouble.text,
        }
        for trouble in service.troubles.recent
    ]
